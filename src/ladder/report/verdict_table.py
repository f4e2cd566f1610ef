"""The table of verdicts: the claim, the claimed and the measured ratio with its interval, the verdict, the cause."""

import math
from collections import Counter
from dataclasses import dataclass

from ladder.report import latex, ratios
from ladder.report.cells import NONE
from ladder.statistics import claims


@dataclass(frozen=True)
class AnsweredClaim:
    """A claim with its answer, all in LaTeX: the claim, what testing it needs, the cause found, where it is stated.

    `converged` says whether all cases behind the answer converged.
    """

    key: str
    text: str
    needs: str
    cause: str | None
    answer: claims.Answer
    place: str = ""
    converged: bool = True


HEAD = ["Claim", "Claimed", "Measured", "Campaigns", "Verdict", "Cause"]


def table(*groups):
    """The verdicts of claims as LaTeX, with a rule between groups; an untested claim says what testing it needs."""
    claim_column, measured_column, verdict_column, cause_column = (
        rf">{{\raggedright\arraybackslash}}p{{{share}\linewidth}}" for share in (0.33, 0.17, 0.1, 0.2)
    )
    rows = [row for group in groups if group for row in (None, *map(cells, group))]
    return latex.table(f"{claim_column}r{measured_column}r{verdict_column}{cause_column}", HEAD, rows[1:])


def cells(claim):
    """The cells of a claim; a circle marks a verdict that rests on a case which hasn't converged."""
    measured = ratios.latex(claim.answer.ratio) if claim.answer.ratio else NONE
    words = f"{claim.text} ({claim.place})" if claim.place else claim.text
    mark = "" if claim.converged else r"\unconverged{}"
    verdict = claim.answer.verdict + mark
    return [words, claimed_range(claim.answer), measured, spread(claim.answer.ratio), verdict, cause(claim)]


def spread(ratio):
    """The number of campaigns and, if known, the standard deviation between them."""
    if not (ratio and ratio.spread):
        return NONE
    count, between = ratio.spread.campaigns, ratio.spread.sd_between
    return str(count) if math.isnan(between) else f"{count} ({latex.percent(between, 1)})"


def claimed_range(answer):
    """The ratio that is claimed: about a number, a range, a bound, equality, or any gain."""
    if answer.lower == answer.upper:
        sign, value = r"\approx" if answer.lower != 1 else "=", answer.lower
    elif answer.lower and answer.upper < math.inf:
        return f"{answer.lower:.3g} to {ratios.with_times_sign(f'{answer.upper:.3g}')}"
    elif answer.upper == math.inf:
        sign, value = (r"\geq", answer.lower) if answer.lower > 1 else (">", 1)
    else:
        sign, value = r"\leq", answer.upper
    return f"${sign}$\\,{ratios.with_times_sign(f'{value:.3g}')}"


def cause(claim):
    """The last cell: the cause of the result, or the reason why the claim is undecided or untested."""
    if claim.answer.verdict == claims.NOT_TESTED:
        return f"needs {claim.needs}"
    if claim.answer.verdict == claims.UNDECIDED:
        return ratios.detectable_from(claim.answer.detectable)
    return claim.cause or NONE


# Verdicts as the predicates of a sentence, where they differ.
PREDICATES = {claims.NO_EFFECT: "without effect"}


def tally(group):
    """The number of claims by verdict, as text: 1 is as claimed and 3 are undecided; None if none was tested."""
    counts = Counter(claim.answer.verdict for claim in group)
    if set(counts) <= {claims.NOT_TESTED}:
        return None
    counted = [(counts[word], PREDICATES.get(word, word)) for word in claims.VERDICTS if counts[word]]
    return latex.enumeration(f"\\num{{{count}}} {'is' if count == 1 else 'are'} {word}" for count, word in counted)
