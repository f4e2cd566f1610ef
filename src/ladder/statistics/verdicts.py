"""Comparisons of two cases: faster, slower, equal or undecided. `intervals` names the literature.

`claims` has the verdicts on claims about ratios.
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
    exp_or_inf,
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
    """The result of `compare(a, b)`: `outcome`, one of OUTCOMES, and the ratio of a's time to b's with its interval.

    The ratio is above 1 if a is slower. `detectable` is the smallest relative slowdown that samples as noisy as these
    detect in about 80 % of comparisons: if it is 0.05, a slowdown of less than 5 % is detected less often.
    """

    outcome: str
    ratio: float
    low: float
    high: float
    detectable: float

    @property
    def equal_percent(self) -> int | None:
        """The per cent within which the two are equal, a whole number; None beyond MARGIN."""
        return equal_within(self.low, self.high)


def outcome_of(low: float, high: float, threshold: float = THRESHOLD) -> str:
    """The outcome, one of OUTCOMES, for a case whose time divided by another case's has this interval.

    The case is slower or faster if the whole interval lies beyond the threshold, else equal if it lies within MARGIN.
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

    `outcome_of` decides by the ratio's interval at `level`. Faster and slower are tests for a minimum effect, so that a
    bias below the threshold, for instance from the order of measuring, isn't reported as a change. The interval is that
    of the shift between the logarithms of the process medians. With `paired`, it is that of the median difference
    between process i of a and process i of b, which must have run back to back, in alternating order (ABBA), so that
    slow drift of the machine cancels; unpaired, such drift widens the interval. If the cases were measured at different
    times, the ratio contains the drift, and no test can remove it. (A rank test of the pooled samples would mistake
    offsets between processes for differences between the cases.)

    The level is 99 % because the paper draws about a hundred verdicts: of one hundred comparisons of a kernel with
    itself, more than five intervals would miss 1 with a probability of 38 % at a level of 95 %, but below 0.1 % at
    99 %. Rank intervals keep the level if both cases are equally noisy; if a is ten times noisier than b, up to 3.5 %
    of simulated outcomes were false.

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
    ratio, ratio_low, ratio_high = exp_or_inf([centre, low, high])
    outcome = outcome_of(ratio_low, ratio_high, threshold)
    detectable = (1 + threshold) * exp_or_inf(detectable_half_widths(level) * max(high - centre, centre - low)) - 1
    return Verdict(outcome, float(ratio), float(ratio_low), float(ratio_high), float(detectable))


def detectable_half_widths(level: float) -> float:
    """The change that is detected with probability POWER, as a multiple of the half width of an interval at `level`."""
    normal = NormalDist()
    return 1 + normal.inv_cdf(POWER) / normal.inv_cdf((1 + level) / 2)


def shift_between(a: np.ndarray, b: np.ndarray, level: float) -> tuple[float, float, float]:
    """Shift from b to a: (median, low, high) of all differences, where the interval inverts the rank-sum test.

    J. Hodges and E. Lehmann, Annals of Mathematical Statistics 34, 1963. With too few values, the difference of the
    means and its interval, by `welch`.
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
    """Rank k, among the m*n differences, of the ends of the interval of a shift; 0 if no rank reaches the level.

    The number of negative differences is Mann and Whitney's U. The number of the comb(m+n, m) orderings of the
    values with U = u is the coefficient of q**u in the Gaussian binomial, the product over i = 1..m of
    (1 - q**(n+i)) / (1 - q**i).
    """
    ways = [1] + [0] * (m * n)
    for i in range(1, m + 1):
        for u in range(m * n, n + i - 1, -1):
            ways[u] -= ways[u - n - i]
        for u in range(i, m * n + 1):
            ways[u] += ways[u - i]
    return rank_of(ways, comb(m + n, m), level)
