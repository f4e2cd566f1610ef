"""Ratios of times with one interval for all purposes, at LEVEL, because the paper draws about a hundred verdicts.

A ratio is the quotient of two times, each the median over processes of the processes' medians, as in the tables.
`verdicts` decides which of two cases is faster, `claims` what a ratio says of a claim, and `campaigns` combines the
ratios of several campaigns.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from ladder.statistics.intervals import exp_or_inf, location, log_medians, median_of, require_processes
from ladder.statistics.verdicts import THRESHOLD, detectable_half_widths, shift_between

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

    def times(self, factor: float) -> Ratio:
        """The ratio times an exact number, such as the ratio of two amounts of work."""
        return replace(self, value=self.value * factor, low=self.low * factor, high=self.high * factor)

    def inverse(self) -> Ratio:
        """The reciprocal."""
        return replace(self, value=1 / self.value, low=1 / self.high, high=1 / self.low if self.low else math.inf)

    def detectable(self, threshold: float = THRESHOLD) -> float:
        """The relative change, beyond a threshold, that an interval of this width detects with a power of 80 %."""
        if not 0 < self.low <= self.high < math.inf:
            return math.inf
        return (1 + threshold) * max(self.high / self.value, self.value / self.low) ** detectable_half_widths(LEVEL) - 1


def process_medians(processes: Sequence[Sequence[float]]) -> np.ndarray:
    """The median of each process's samples, in seconds."""
    return np.array([median_of(times) for times in require_processes(processes, "the case")])


def median_time(processes: Sequence[Sequence[float]]) -> float:
    """The median over processes of the processes' medians, in seconds."""
    return float(np.median(process_medians(processes)))


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
    a_medians, b_medians = process_medians(a), process_medians(b)
    test_medians = b_medians if test_processes is None else process_medians(test_processes)
    return quotient_of_medians(a_medians, b_medians, cases, test_medians)


def quotient_of_medians(
    a: np.ndarray, b: np.ndarray, cases: tuple = (), test_medians: np.ndarray | None = None
) -> Ratio:
    """The `quotient` of two times from their `process_medians`, for callers that compare a case with many others."""
    test_side = b if test_medians is None else test_medians
    interval = shift_between(np.log(a), np.log(test_side), LEVEL)
    return ratio_with_interval(float(np.median(a)) / float(np.median(b)), interval, cases)


def exact_quotient(a: Sequence[Sequence[float]], seconds: float, cases: tuple = ()) -> Ratio:
    """The time of a over an exact time; the interval is that of a's median, by ranks with 8 or more processes."""
    _, low, high = location(log_medians(require_processes(a, "the case")), LEVEL)
    shift = math.log(seconds)
    return ratio_with_interval(median_time(a) / seconds, (0.0, low - shift, high - shift), cases)


def ratio_with_interval(
    value: float, logarithms: tuple[float, float, float], cases: tuple[tuple[str, str, str, str], ...]
) -> Ratio:
    """A ratio whose interval, given as logarithms (centre, low, high), is extended to contain the value."""
    _, low, high = exp_or_inf(logarithms)
    return Ratio(value, float(min(low, value)), float(max(high, value)), cases)
