"""Verdicts on claims about ratios: confirmed, weaker, refuted, undecided or not tested.

A ratio is the quotient of two times, each the median over processes of the processes' medians, as in the tables. It has
one interval for all purposes, at LEVEL, because the paper draws about a hundred verdicts. `verdicts` decides which of
two cases is faster.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from ladder.errors import LadderError
from ladder.statistics.intervals import exp, location, log_medians, median_of, require_processes

# A claim holds within MARGIN too: results of different machines never agree better.
from ladder.statistics.verdicts import MARGIN, UNDECIDED, detectable_half_widths, shift_between

LEVEL = 0.99
CONFIRMED, WEAKER, REFUTED, NOT_TESTED = "confirmed", "weaker", "refuted", "not tested"
WORDS = CONFIRMED, WEAKER, REFUTED, UNDECIDED, NOT_TESTED


@dataclass(frozen=True)
class Ratio:
    """A positive ratio with its interval at LEVEL, (0, inf) where there are too few processes for one.

    `cases` are the cases behind it, each (machine, workload, variant, case); comparisons ignore them.
    """

    value: float
    low: float
    high: float
    cases: tuple = field(default=(), compare=False, repr=False)

    def times(self, factor):
        """The ratio times an exact number, such as the ratio of two amounts of work."""
        return replace(self, value=self.value * factor, low=self.low * factor, high=self.high * factor)

    def inverse(self):
        """The reciprocal."""
        return replace(self, value=1 / self.value, low=1 / self.high, high=1 / self.low if self.low else math.inf)

    def detectable(self, margin=MARGIN):
        """The smallest relative change beyond a margin that an interval of this width detects with a power of 80 %."""
        if not 0 < self.low <= self.high < math.inf:
            return math.inf
        return (1 + margin) * max(self.high / self.value, self.value / self.low) ** detectable_half_widths(LEVEL) - 1


@dataclass(frozen=True)
class Answer:
    """The verdict, one of WORDS, on the claim that a ratio lies from `lower` to `upper`, with the measured ratio.

    `ratio` is None if it was not measured; `detectable` is the smallest relative change that it could have detected.
    """

    verdict: str
    ratio: Ratio | None
    lower: float
    upper: float
    detectable: float = math.inf


def middle(processes: Sequence[Sequence[float]]) -> float:
    """The median over processes of the processes' medians, in seconds."""
    return float(np.median([median_of(times) for times in require_processes(processes, "the case")]))


def quotient(
    a: Sequence[Sequence[float]],
    b: Sequence[Sequence[float]],
    cases: tuple = (),
    tested: Sequence[Sequence[float]] | None = None,
) -> Ratio:
    """The time of a over that of b; `cases` are the cases behind it.

    The interval is that of `verdicts.shift_between`, extended to the ratio if necessary: a rank interval from 5
    processes of each on, else Welch's, which is slightly too narrow if processes fall into two groups. If b was chosen
    as the best of several, `tested` are its processes that weren't used for the choice (`selection.split_processes`);
    only these determine the interval.
    """
    logarithms = (log_medians(require_processes(times, "the case")) for times in (a, b if tested is None else tested))
    return ratio_with_interval(middle(a) / middle(b), shift_between(*logarithms, LEVEL), cases)


def multiple(a: Sequence[Sequence[float]], seconds: float, cases: tuple = ()) -> Ratio:
    """The time of a over an exact time; the interval is that of a's median, a rank interval from 8 processes on."""
    _, low, high = location(log_medians(require_processes(a, "the case")), LEVEL)
    shift = math.log(seconds)
    return ratio_with_interval(middle(a) / seconds, (0.0, low - shift, high - shift), cases)


def ratio_with_interval(value, logarithms, cases):
    """A ratio with the interval of (centre, low, high) in logarithms, extended to the ratio if necessary."""
    _, low, high = exp(logarithms)
    return Ratio(value, float(min(low, value)), float(max(high, value)), cases)


def decide(ratio: Ratio | None, lower: float, upper: float = math.inf, margin: float = MARGIN) -> Answer:
    """The verdict on the claim that a ratio lies from `lower` to `upper`; a ratio of None was not tested.

    A claim on one side of 1 has a direction: whatever the claim, the ratio must differ from 1 by more than the margin.
    A claim that contains 1, or from 1 to 1, is a claim of equality. One from 0 is an upper bound only, such as for a
    time over its lower bound. The claimed range is extended by the margin. The whole interval decides: inside the range
    the claim is confirmed; in the claimed direction but short of the range it is weaker; if no part of the interval has
    the claimed direction, or all of it is beyond the range, the claim is refuted.
    """
    if not 0 <= lower <= upper or not (lower > 0 or 0 < upper < math.inf) or not margin >= 0:
        raise LadderError(
            f"A claim from {lower} to {upper} with a margin of {margin} says nothing: its ends must be in order, one "
            "of them above 0, and its margin at least 0."
        )
    if ratio is None:
        return Answer(NOT_TESTED, None, lower, upper)
    if upper <= 1 and 0 < lower < 1:
        inverse = decide(ratio.inverse(), 1 / upper, 1 / lower, margin)
        return Answer(inverse.verdict, ratio, lower, upper, inverse.detectable)
    return Answer(verdict_on(ratio, lower, upper, margin), ratio, lower, upper, ratio.detectable(margin))


def verdict_on(ratio, lower, upper, margin):
    """The verdict on a claim above 1, of equality, or of an upper bound."""
    beyond = 1 + margin
    start, end = lower / beyond, upper * beyond
    direction = beyond if lower >= 1 and upper > 1 else start  # a ratio below it contradicts the claimed direction
    start = max(start, direction)
    if start <= ratio.low and ratio.high <= end:
        return CONFIRMED
    if ratio.low > end or ratio.high < direction:
        return REFUTED
    if ratio.low >= direction and ratio.high < start:
        return WEAKER
    return UNDECIDED
