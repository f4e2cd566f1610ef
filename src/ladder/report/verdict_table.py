"""The table of verdicts: the claim, the ratio claimed and that found with its interval, the verdict, the cause."""

import math
from collections import Counter
from dataclasses import dataclass

from ladder.report import latex, ratios
from ladder.report.cells import NONE
from ladder.statistics import claims


@dataclass(frozen=True)
class Claim:
    """A claim with its answer, all in LaTeX: the claim, what testing it needs, the cause found."""

    key: str
    text: str
    needs: str
    cause: str | None
    answer: claims.Answer


def table(*groups):
    """The verdicts of groups of claims as LaTeX, lines between; what nothing was measured for says what it needs."""
    claim, now, why = (rf">{{\raggedright\arraybackslash}}p{{{share}\linewidth}}" for share in (0.3, 0.2, 0.27))
    rows = [row for group in groups for row in (None, *map(cells, group))]
    return latex.table(f"{claim}r{now}l{why}", ["Claim", "Claimed", "Found", "Verdict", "Cause"], rows[1:])


def cells(claim):
    """The cells of a claim."""
    now = ratios.latex(claim.answer.ratio) if claim.answer.ratio else NONE
    return [claim.text, claimed(claim.answer), now, claim.answer.verdict, cause(claim)]


def claimed(answer):
    """The ratio that is claimed: at least or at most so much, equality, or any gain."""
    if answer.lower == answer.upper:
        sign, value = "=", answer.lower
    elif answer.upper == math.inf:
        sign, value = (r"\geq", answer.lower) if answer.lower > 1 else (">", 1)
    else:
        sign, value = r"\leq", answer.upper
    return f"${sign}$\\,{ratios.times(f'{value:.3g}')}"


def cause(claim):
    """The last cell: why, or what keeps the claim undecided or untested."""
    if claim.answer.verdict == claims.NOT_TESTED:
        return f"needs {claim.needs}"
    if claim.answer.verdict == claims.UNDECIDED:
        return ratios.seen(claim.answer.detectable)
    return claim.cause or NONE


def tally(answered):
    """How many of some claims have each verdict, as text: 1 is confirmed and 3 are refuted; None if none was tested."""
    counts = Counter(claim.answer.verdict for claim in answered)
    if set(counts) == {claims.NOT_TESTED}:
        return None
    told = [(counts[word], word) for word in claims.WORDS if counts[word]]
    return latex.listed(f"\\num{{{count}}} {'is' if count == 1 else 'are'} {word}" for count, word in told)
