"""Verdicts on claims about ratios: confirmed, weaker, refuted, undecided or not tested.

A ratio is the quotient of two times, each the median over processes of the processes' medians, as in the tables. Every
use of a ratio has the same interval, at LEVEL, because the paper draws about a hundred verdicts. `verdicts` decides
which of two cases is faster.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from ladder.errors import LadderError
from ladder.statistics.intervals import exp, location, log_medians, median_of, require_processes
from ladder.statistics.verdicts import MARGIN, UNDECIDED, detectable_half_widths, shift_between

# The level of all intervals of ratios. MARGIN extends claims, too: results of two machines never agree better.
LEVEL = 0.99
CONFIRMED, WEAKER, REFUTED, NOT_TESTED = "confirmed", "weaker", "refuted", "not tested"
WORDS = CONFIRMED, WEAKER, REFUTED, UNDECIDED, NOT_TESTED


@dataclass(frozen=True)
class Ratio:
    """A positive ratio with its interval at LEVEL, (0, inf) if there are too few processes.

    `cases` are the cases that it was computed from, each (machine, workload, variant, case); equality ignores them.
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
        """The relative change that an interval of this width, compared with a margin, detects with a power of 80 %."""
        if not 0 < self.low <= self.high < math.inf:
            return math.inf
        return (1 + margin) * max(self.high / self.value, self.value / self.low) ** detectable_half_widths(LEVEL) - 1


@dataclass(frozen=True)
class Answer:
    """The verdict, one of WORDS, on the claim that a ratio lies between `lower` and `upper`.

    `ratio` is the measured ratio, None if it was not measured; `detectable` is the smallest relative change that the
    measurements could have detected.
    """

    verdict: str
    ratio: Ratio | None
    lower: float
    upper: float
    detectable: float = math.inf


def median_time(processes: Sequence[Sequence[float]]) -> float:
    """The median over processes of the processes' medians, in seconds."""
    return float(np.median([median_of(times) for times in require_processes(processes, "the case")]))


def quotient(
    a: Sequence[Sequence[float]],
    b: Sequence[Sequence[float]],
    cases: tuple = (),
    test_processes: Sequence[Sequence[float]] | None = None,
) -> Ratio:
    """The time of a over the time of b, from the seconds of each process's samples; `cases` as in `Ratio`.

    The interval is that of `verdicts.shift_between`, extended to contain the ratio: with 5 or more processes of each a
    rank interval, else Welch's, which is slightly too narrow if processes fall into two groups. If b was chosen as the
    best of several cases, only `test_processes` determine the interval: b's processes that weren't used for the choice
    (`selection.split_processes`).
    """
    test_side = b if test_processes is None else test_processes
    logarithms = (log_medians(require_processes(times, "the case")) for times in (a, test_side))
    return ratio_with_interval(median_time(a) / median_time(b), shift_between(*logarithms, LEVEL), cases)


def exact_quotient(a: Sequence[Sequence[float]], seconds: float, cases: tuple = ()) -> Ratio:
    """The time of a over an exact time; the interval is that of a's median, by ranks with 8 or more processes."""
    _, low, high = location(log_medians(require_processes(a, "the case")), LEVEL)
    shift = math.log(seconds)
    return ratio_with_interval(median_time(a) / seconds, (0.0, low - shift, high - shift), cases)


def ratio_with_interval(value, logarithms, cases):
    """A ratio whose interval, given as logarithms (centre, low, high), is extended to contain the value."""
    _, low, high = exp(logarithms)
    return Ratio(value, float(min(low, value)), float(max(high, value)), cases)


def decide(ratio: Ratio | None, lower: float, upper: float = math.inf, margin: float = MARGIN) -> Answer:
    """The verdict on the claim that a ratio lies between `lower` and `upper`; a ratio of None is not tested.

    A range on one side of 1 claims a direction: the ratio must differ from 1 by more than the margin, even if the range
    begins closer to 1. A range that contains 1, or is only 1, claims equality. A range from 0 claims an upper bound,
    such as on a time over its lower bound. The margin extends the range. The ratio's interval decides: the claim is
    confirmed if all of it lies in the range, weaker if all of it has the claimed direction but lies short of the range,
    refuted if no part of it has the claimed direction or all of it lies beyond the range, and undecided otherwise.
    """
    if not 0 <= lower <= upper or not (lower > 0 or 0 < upper < math.inf) or not margin >= 0:
        raise LadderError(
            f"A claim from {lower} to {upper} with a margin of {margin} says nothing: its ends must be in order, one "
            "of them must be above 0 and finite, and its margin must be at least 0."
        )
    if ratio is None:
        return Answer(NOT_TESTED, None, lower, upper)
    if upper <= 1 and 0 < lower < 1:
        inverse = decide(ratio.inverse(), 1 / upper, 1 / lower, margin)
        return Answer(inverse.verdict, ratio, lower, upper, inverse.detectable)
    return Answer(verdict_on(ratio, lower, upper, margin), ratio, lower, upper, ratio.detectable(margin))


def verdict_on(ratio, lower, upper, margin):
    """The verdict on a claim of a ratio above 1, of equality, or of an upper bound."""
    factor = 1 + margin
    start, end = lower / factor, upper * factor
    threshold = factor if lower >= 1 and upper > 1 else start  # ratios below it contradict the claimed direction
    start = max(start, threshold)
    if start <= ratio.low and ratio.high <= end:
        return CONFIRMED
    if ratio.low > end or ratio.high < threshold:
        return REFUTED
    if ratio.low >= threshold and ratio.high < start:
        return WEAKER
    return UNDECIDED
