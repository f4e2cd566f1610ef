"""Verdicts on claims about ratios, by RULES.

Two constants of `verdicts.py` serve all of them: a ratio has a direction beyond THRESHOLD, and two values agree within
MARGIN.
"""

import math
from dataclasses import dataclass

from ladder.errors import LadderError
from ladder.statistics.quotients import Ratio
from ladder.statistics.verdicts import EQUAL, FASTER, MARGIN, SLOWER, UNDECIDED, equal_within, outcome_of

AS_CLAIMED, LESS, MORE = "as claimed", "less than claimed", "more than claimed"
NO_EFFECT, OPPOSITE, NOT_TESTED = "no effect", "the opposite", "not tested"
VERDICTS = AS_CLAIMED, MORE, LESS, NO_EFFECT, OPPOSITE, UNDECIDED, NOT_TESTED
# The verdicts, and what the interval of the ratio does; the first rule that holds decides. `docs/how-to/verdict.md` has
# the same words.
RULES = {
    OPPOSITE: "has the direction opposite to a claimed speed-up or, for a claimed equality, lies wholly beyond the "
    "margin of 1",
    NO_EFFECT: "lies within the margin of 1 and has no direction, where a speed-up is claimed",
    AS_CLAIMED: "agrees with the number within the margin, and isn't wholly on the wrong side of a bound; without a "
    "number, has the claimed direction",
    LESS: "lies wholly on the wrong side of a bound, or wholly more than the margin short of the number",
    MORE: "lies wholly more than the margin beyond the number",
    UNDECIDED: "fits none of these",
}


@dataclass(frozen=True)
class Answer:
    """The verdict, one of VERDICTS, on the claim that a ratio lies between `lower` and `upper`.

    `ratio` is the measured ratio, None if it was not measured; `detectable` is the smallest relative difference that
    the measurements could have detected.
    """

    verdict: str
    ratio: Ratio | None
    lower: float
    upper: float
    detectable: float = math.inf


def decide(ratio: Ratio | None, lower: float, upper: float = math.inf) -> Answer:
    """The verdict on the claim that a ratio lies from `lower` to `upper`; a ratio of None was not tested.

    | claim | lower, upper |
    | --- | --- |
    | faster, without a number | 1, inf |
    | at least c times | c, inf |
    | about c times | c, c |
    | equal | 1, 1 |
    | a time is at most c times its lower bound | 0, c |

    A claim below 1 is that of the reciprocal ratio. Raises LadderError for a claim that says nothing.
    """
    contains_1 = 0 < lower < 1 < upper
    if not 0 <= lower <= upper or contains_1 or not (lower > 0 or 0 < upper < math.inf):
        raise LadderError(
            f"A claim from {lower} to {upper} says nothing: its ends must be in order, one of them above 0, and both "
            "on one side of 1."
        )
    if ratio is None:
        return Answer(NOT_TESTED, None, lower, upper)
    if 0 < lower < 1:
        inverse = decide(ratio.inverse(), 1 / upper, 1 / lower)
        return Answer(inverse.verdict, ratio, lower, upper, inverse.detectable)
    if lower == 0:
        verdict = decide_upper_bound(ratio, upper)
    elif lower == upper == 1:
        verdict = decide_equality(ratio)
    else:
        verdict = decide_speed_up(ratio, lower, upper)
    return Answer(verdict, ratio, lower, upper, ratio.detectable())


def decide_upper_bound(ratio: Ratio, upper: float) -> str:
    """The verdict on a claim of an upper bound of a time; a longer time is less than was claimed."""
    if ratio.low > upper:
        return LESS
    return AS_CLAIMED if ratio.high <= upper * (1 + MARGIN) else UNDECIDED


def decide_equality(ratio: Ratio) -> str:
    """The verdict on a claim of equality."""
    if ratio.low > 1 + MARGIN or ratio.high < 1 / (1 + MARGIN):
        return OPPOSITE
    return UNDECIDED if equal_within(ratio.low, ratio.high) is None else AS_CLAIMED


def decide_speed_up(ratio: Ratio, lower: float, upper: float) -> str:
    """The verdict on a claim of a speed-up, of at least `lower` times if `upper` is infinite."""
    outcome = outcome_of(ratio.low, ratio.high)
    if outcome == FASTER:  # the side that is claimed to be slower
        return OPPOSITE
    if outcome == EQUAL:
        return NO_EFFECT
    if lower == 1 and upper == math.inf:
        return AS_CLAIMED if outcome == SLOWER else UNDECIDED
    start, end = lower / (1 + MARGIN), upper * (1 + MARGIN)
    if ratio.high < (lower if upper == math.inf else start):
        return LESS
    if ratio.low > end:
        return MORE
    return AS_CLAIMED if start <= ratio.low and ratio.high <= end else UNDECIDED


def has_number(lower: float, upper: float) -> bool:
    """Whether a claim states a number beyond a direction or equality."""
    return not {lower, upper} <= {1, math.inf}
