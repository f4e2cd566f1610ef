"""The table of verdicts: the claim, the claimed and the measured ratio with its interval, the verdict, the cause."""

import math
from collections import Counter
from dataclasses import dataclass

from ladder.report import latex, ratios
from ladder.report.cells import NONE
from ladder.statistics import claims


@dataclass(frozen=True)
class Claim:
    """A claim with its answer; `text`, `needs` (what a test requires) and `cause` (of the result) are LaTeX."""

    key: str
    text: str
    needs: str
    cause: str | None
    answer: claims.Answer


def table(*groups):
    """The verdicts of groups of claims as LaTeX, with a rule between groups."""
    claim, ratio, why = (rf">{{\raggedright\arraybackslash}}p{{{share}\linewidth}}" for share in (0.3, 0.2, 0.27))
    rows = [row for group in groups for row in (None, *map(cells, group))]
    return latex.table(f"{claim}r{ratio}l{why}", ["Claim", "Claimed", "Found", "Verdict", "Cause"], rows[1:])


def cells(claim):
    """The cells of a claim."""
    ratio = ratios.latex(claim.answer.ratio) if claim.answer.ratio else NONE
    return [claim.text, claimed_range(claim.answer), ratio, claim.answer.verdict, cause(claim)]


def claimed_range(answer):
    """The claimed ratio: at least or at most a value, equal to a value, or above 1."""
    if answer.lower == answer.upper:
        sign, value = "=", answer.lower
    elif answer.upper == math.inf:
        sign, value = (r"\geq", answer.lower) if answer.lower > 1 else (">", 1)
    else:
        sign, value = r"\leq", answer.upper
    return f"${sign}$\\,{ratios.times(f'{value:.3g}')}"


def cause(claim):
    """The last cell: the cause of the result, or the reason why the claim is undecided or untested."""
    if claim.answer.verdict == claims.NOT_TESTED:
        return f"needs {claim.needs}"
    if claim.answer.verdict == claims.UNDECIDED:
        return ratios.detectable_from(claim.answer.detectable)
    return claim.cause or NONE


def tally(group):
    """The number of claims by verdict, as text: 1 is confirmed and 3 are refuted; None if none was tested."""
    counts = Counter(claim.answer.verdict for claim in group)
    if set(counts) == {claims.NOT_TESTED}:
        return None
    pairs = [(counts[word], word) for word in claims.WORDS if counts[word]]
    return latex.enumeration(f"\\num{{{count}}} {'is' if count == 1 else 'are'} {word}" for count, word in pairs)
