"""Comparisons of two cases: faster, slower, equal or undecided; and speed-ups. See `intervals` for the sources.

Verdicts on claims about ratios are in `claims`.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from math import comb
from statistics import NormalDist

import numpy as np

from ladder.errors import LadderError
from ladder.statistics.intervals import (
    between_ranks,
    exp,
    location,
    log_medians,
    mean_and_error,
    rank_of,
    require_level,
    require_processes,
    t_interval,
)

POWER = 0.8  # the approximate probability of detecting a change of size `Verdict.detectable`
THRESHOLD = 0.01  # the relative difference beyond which one case is faster than another
MARGIN = 0.1  # the relative difference within which two cases are equal
OUTCOMES = FASTER, SLOWER, EQUAL, UNDECIDED = "faster", "slower", "equal", "undecided"


@dataclass(frozen=True)
class Verdict:
    """The result of `compare(a, b)`: `ratio`, between `low` and `high`, is the time of a over the time of b.

    It is above 1 if a is slower; `outcome` is one of OUTCOMES, and `within` the per cent within which they are equal.
    `detectable` is the smallest relative slowdown that samples as noisy as these detect in about 80 % of comparisons:
    0.05 means that changes below 5 % are undecidable here.
    """

    outcome: str
    ratio: float
    low: float
    high: float
    detectable: float

    @property
    def within(self):
        """The whole per cents within which the two are equal; None if more than MARGIN."""
        return equal_within(self.low, self.high)


def outcome_of(low: float, high: float, threshold: float = THRESHOLD) -> str:
    """The outcome, one of OUTCOMES, for a case whose time over that of another has this interval.

    It is slower or faster if the whole interval lies beyond the threshold, else equal if it lies within MARGIN.
    """
    if low > 1 + threshold:
        return SLOWER
    if high < 1 / (1 + threshold):
        return FASTER
    return UNDECIDED if equal_within(low, high) is None else EQUAL


def equal_within(low: float, high: float) -> int | None:
    """The largest difference from 1 in an interval, in whole per cent, rounded up; None beyond MARGIN."""
    farthest = max(high, 1 / low) if low > 0 else math.inf
    if not farthest <= 1 + MARGIN:
        return None
    return max(1, math.ceil(100 * (farthest - 1) - 1e-9))  # tolerates rounding errors


def compare(
    a_processes: Sequence[Sequence[float]],
    b_processes: Sequence[Sequence[float]],
    threshold: float = THRESHOLD,
    paired: bool = False,
    level: float = 0.99,
) -> Verdict:
    """Whether a is faster or slower than b by more than `threshold` (relative), equal to it, or undecided.

    `outcome` is that of the ratio's interval at `level` by `outcome_of`. Faster and slower are tests for a minimum
    effect, so that a bias below the threshold (from the order of measuring, say) isn't reported as a change.
    The interval is that of the shift between the logarithms of the process medians or, with `paired`, of the
    median of the differences between process i of a and process i of b. These must have run back to back, in
    alternating order (ABBA), so that slow drift of the machine cancels; unpaired, the same order only widens
    the interval. If the cases were measured at different times, the ratio contains the drift, and no test can remove
    it. (A rank test of the pooled samples would mistake the offsets of processes for differences of the cases.)

    The level is 99 % because the paper draws about a hundred verdicts: at 95 %, one hundred comparisons of a kernel
    with itself would have at most five false outcomes in only 62 % of the studies, at 99 % in 99.9 %. Rank intervals
    keep the level if both cases are equally noisy; if a is ten times noisier than b, simulations gave up to 3.5 % false
    outcomes.

    Raises `LadderError` if `paired` and the numbers of processes differ.
    """
    if not threshold >= 0:
        raise LadderError(f"The threshold of a comparison is {threshold}, but must be at least 0, such as 0.01.")
    a = log_medians(require_processes(a_processes, "the first case"))
    b = log_medians(require_processes(b_processes, "the second case"))
    if paired and a.size != b.size:
        raise LadderError(
            f"A paired comparison needs the same number of processes of both cases, but got {a.size} and {b.size}: "
            "measure the missing ones or compare unpaired."
        )
    level = require_level(level)
    centre, low, high = location(a - b, level) if paired else shift_between(a, b, level)
    ratio, ratio_low, ratio_high = exp([centre, low, high])
    outcome = outcome_of(ratio_low, ratio_high, threshold)
    detectable = (1 + threshold) * exp(detectable_half_widths(level) * max(high - centre, centre - low)) - 1
    return Verdict(outcome, float(ratio), float(ratio_low), float(ratio_high), float(detectable))


def detectable_half_widths(level: float) -> float:
    """The size of a change detected with probability POWER, in half widths of an interval at `level`."""
    normal = NormalDist()
    return 1 + normal.inv_cdf(POWER) / normal.inv_cdf((1 + level) / 2)


def shift_between(a: np.ndarray, b: np.ndarray, level: float) -> tuple[float, float, float]:
    """Shift from b to a: the median of all differences, and the interval that inverts the rank-sum test.

    J. Hodges and E. Lehmann, Annals of Mathematical Statistics 34, 1963. With too few values, Welch's interval.
    """
    k = shift_rank(a.size, b.size, level)
    return between_ranks(np.subtract.outer(a, b).ravel(), k) if k else welch(a, b, level)


def welch(a: np.ndarray, b: np.ndarray, level: float) -> tuple[float, float, float]:
    """Difference of means and its t interval for unequal variances (B. L. Welch, Biometrika 34, 1947)."""
    (mean_a, error_a, freedom_a), (mean_b, error_b, freedom_b) = mean_and_error(a), mean_and_error(b)
    error, freedom = np.hypot(error_a, error_b), min(freedom_a, freedom_b)
    if 0 < error < np.inf:
        freedom = 1 / ((error_a / error) ** 4 / freedom_a + (error_b / error) ** 4 / freedom_b)
    return t_interval(mean_a - mean_b, error, freedom, level)


@cache
def shift_rank(m: int, n: int, level: float) -> int:
    """Rank, among m*n differences, of the ends of the interval of a shift; 0 if none reaches the level.

    The number of negative differences is Mann and Whitney's U. The orderings that give each U are counted by the
    coefficients of the Gaussian binomial, the product over i = 1..m of (1 - q**(n+i)) / (1 - q**i), of
    comb(m+n, m) in all.
    """
    ways = [1] + [0] * (m * n)
    for i in range(1, m + 1):
        for u in range(m * n, n + i - 1, -1):
            ways[u] -= ways[u - n - i]
        for u in range(i, m * n + 1):
            ways[u] += ways[u - i]
    return rank_of(ways, comb(m + n, m), level)
