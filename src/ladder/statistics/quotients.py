"""Ratios of times with one interval for all purposes, at LEVEL, because the paper draws about a hundred verdicts.

A ratio is the quotient of two times, each the median over processes of the processes' medians, as in the tables.
`verdicts` decides which of two cases is faster, `claims` what a ratio says of a claim, and `campaigns` combines the
ratios of several campaigns.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from ladder.statistics.intervals import exp, location, log_medians, median_of, require_processes
from ladder.statistics.verdicts import THRESHOLD, farther, shift_between

LEVEL = 0.99


@dataclass(frozen=True)
class Ratio:
    """A positive ratio with its interval at LEVEL, (0, inf) where there are too few processes for one.

    `cases` are the cases behind it, each (machine, workload, variant, case), and `spread` is the `campaigns.Spread` of
    a ratio whose sides were measured in the same campaigns, else None. Comparisons of ratios ignore both.
    """

    value: float
    low: float
    high: float
    cases: tuple = field(default=(), compare=False, repr=False)
    spread: object = field(default=None, compare=False, repr=False)

    def times(self, factor):
        """The ratio times an exact number, such as the ratio of two amounts of work."""
        return replace(self, value=self.value * factor, low=self.low * factor, high=self.high * factor)

    def inverse(self):
        """The reciprocal."""
        return replace(self, value=1 / self.value, low=1 / self.high, high=1 / self.low if self.low else math.inf)

    def detectable(self, threshold=THRESHOLD):
        """The smallest relative change beyond a threshold that an interval of this width detects with a power of 80 %."""
        if not 0 < self.low <= self.high < math.inf:
            return math.inf
        return (1 + threshold) * max(self.high / self.value, self.value / self.low) ** farther(LEVEL) - 1


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
    return extended(middle(a) / middle(b), shift_between(*logarithms, LEVEL), cases)


def multiple(a: Sequence[Sequence[float]], seconds: float, cases: tuple = ()) -> Ratio:
    """The time of a over an exact time; the interval is that of a's median, a rank interval from 8 processes on."""
    _, low, high = location(log_medians(require_processes(a, "the case")), LEVEL)
    shift = math.log(seconds)
    return extended(middle(a) / seconds, (0.0, low - shift, high - shift), cases)


def extended(value, logarithms, cases):
    """A ratio with the interval of (centre, low, high) in logarithms, extended to the ratio if necessary."""
    _, low, high = exp(logarithms)
    return Ratio(value, float(min(low, value)), float(max(high, value)), cases)
