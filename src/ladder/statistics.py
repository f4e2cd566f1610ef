"""Medians with honest intervals, and comparisons that may say "can't tell".

A case is timed in several fresh processes with several samples each. The samples of one process share its
page placement, its address-space layout and the state of the machine at that moment, so they are not
independent: the process is the unit of replication, and more samples in a process do not stand in for more
processes. What is compared is therefore one number per process, the logarithm of its median: the median
keeps outliers within a process out, the logarithm makes ratios symmetric. Intervals of these numbers go by
ranks, which survive a process that met a busy neighbour and ran at half speed. Where no rank interval
reaches the level (at 95 %, below 6 processes of one case or 4 of each of two), they go by Student's t, which
is only nearly right when processes fall into two groups, a fast and a slow one: in simulations 93 % of such
intervals covered instead of 95 %, and 2 % of the words of `compare` were false instead of 1 %.

Every function takes times in seconds and raises `LadderError` on times that no clock can have measured. With
too few samples or processes for an interval, the interval is (0, inf): all that is known of a time, or of a
ratio of times.

Sources: T. Kalibera and R. Jones, "Rigorous benchmarking in reasonable time", ISMM 2013 (repetition at the
level that varies, effect sizes with intervals); T. Hoefler and R. Belli, "Scientific benchmarking of parallel
computing systems", SC 2015 (rank intervals of medians, rates by harmonic mean); T. Mytkowicz et al.,
"Producing wrong data without doing anything obviously wrong!", ASPLOS 2009 (the offset a process carries).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import accumulate
from math import comb
from statistics import NormalDist

import numpy as np

from ladder.errors import LadderError

POWER = 0.8  # the chance, about, with which a change of size `Verdict.detectable` is found


@dataclass(frozen=True)
class Summary:
    """A case in numbers: times in seconds, `n` samples from `processes` processes.

    `relative_half_width` is the longer arm of the interval over the median.
    """

    median: float
    low: float
    high: float
    n: int
    processes: int
    relative_half_width: float


@dataclass(frozen=True)
class Verdict:
    """What `compare(a, b)` found: `ratio`, between `low` and `high`, is time of a over time of b.

    It is above 1 when a is slower; `word` is "faster", "slower" or "can't tell".
    `detectable` is the smallest relative slowdown that samples as noisy as these show in about 80 % of
    comparisons: 0.05 means that changes below 5 % are undecidable here.
    """

    word: str
    ratio: float
    low: float
    high: float
    detectable: float


def median_interval(samples: Sequence[float], level: float = 0.95) -> tuple[float, float, float]:
    """Median of independent samples and its distribution-free interval: (median, low, high), in seconds.

    The interval runs from the k-th smallest to the k-th largest sample, with the largest k that keeps its
    coverage, 1 - 2 P(Binomial(n, 1/2) < k), at `level` or above (Hoefler and Belli 2015). Below 6 samples no
    k does that at 95 % (the range of 5 covers 93.75 %), and the interval is (0, inf) rather than a range with
    a false label. For samples from several processes use `summary`.
    """
    times = _times(samples, "the list of samples")
    k = _median_rank(times.size, _checked_level(level))
    median, low, high = _between_ranks(times, k) if k else (np.median(times), 0.0, np.inf)
    return float(median), float(low), float(high)


def summary(processes: Sequence[Sequence[float]]) -> Summary:
    """Median over all samples with a 95 % interval that respects their clustering in processes.

    The interval is the one of the median of the process medians, widened to the rank interval (or range) of
    the pooled samples, which contains the median over all samples and guards against process medians that
    agree by chance or by the clock's tick. One process says nothing about others: its interval is (0, inf).
    """
    times = _processes(processes, "the case")
    pooled = np.sort(np.concatenate(times))
    _, low, high = _exp(_location(_log_medians(times), 0.95))
    k = max(_median_rank(pooled.size, 0.95), 1)
    low, high, median = min(low, pooled[k - 1]), max(high, pooled[-k]), np.median(pooled)
    half_width = max(high - median, median - low) / median
    return Summary(float(median), float(low), float(high), pooled.size, len(times), float(half_width))


def converged(processes: Sequence[Sequence[float]], target: float) -> bool:
    """Whether the 95 % interval of the median (see `summary`) lies within ±`target` (relative) of it.

    Where processes differ, only further processes narrow the interval, not further samples in the same ones.
    """
    return summary(processes).relative_half_width <= target


def speedup(
    base_processes: Sequence[Sequence[float]], other_processes: Sequence[Sequence[float]]
) -> tuple[float, float, float]:
    """Speed-up of other against base with its 95 % interval: (ratio, low, high), above 1 if other is faster.

    The ratio is that of the two medians over all samples, so that it agrees with the printed times. The
    interval is an effect size with its interval, as Kalibera and Jones 2013 ask for: Welch's on the
    logarithms of the process medians, because two implementations need not be equally noisy (a rank-sum
    interval takes them to be), extended to the ratio where that lies outside.
    """
    base, other = _processes(base_processes, "the base"), _processes(other_processes, "the other case")
    ratio = float(np.median(np.concatenate(base)) / np.median(np.concatenate(other)))
    _, low, high = _exp(_welch(_log_medians(base), _log_medians(other), 0.95))
    return ratio, float(min(low, ratio)), float(max(high, ratio))


def compare(
    a_processes: Sequence[Sequence[float]],
    b_processes: Sequence[Sequence[float]],
    threshold: float = 0.01,
    paired: bool = False,
    level: float = 0.99,
) -> Verdict:
    """Whether a is "faster" or "slower" than b by more than `threshold` (relative), or one "can't tell".

    The word is given when the whole interval of the ratio at `level` lies beyond `threshold`: a test for a
    minimum effect, so that a bias below the threshold (the order of measuring, say) is no change. The
    interval is that of the shift between the logarithms of the process medians or, with `paired`, of the
    median of the differences between process i of a and process i of b. These must have run back to back, in
    alternating order (ABBA), so that slow drift of the machine cancels; unpaired, the same order only widens
    the interval. Cases measured apart in time carry the drift into the ratio, and no test can take it out.
    (A rank test of the pooled samples would take the offsets of processes for differences of the cases.)

    The level is 99 % because verdicts come in dozens: at 95 %, one hundred comparisons of a kernel with
    itself would stay within five false words in 62 % of the studies only, at 99 % in 99.9 %. Ranks hold it
    when both are equally noisy; where a is ten times as noisy as b, simulations gave up to 3.5 % false words.

    Raises `LadderError` when `paired` and the numbers of processes differ.
    """
    if not threshold >= 0:
        raise LadderError(f"The threshold of a comparison is {threshold}, but must be at least 0, such as 0.01.")
    a = _log_medians(_processes(a_processes, "the first case"))
    b = _log_medians(_processes(b_processes, "the second case"))
    if paired and a.size != b.size:
        raise LadderError(
            f"A paired comparison needs equally many processes of both cases, but got {a.size} and {b.size}: "
            "measure the missing ones or compare unpaired."
        )
    level = _checked_level(level)
    centre, low, high = _location(a - b, level) if paired else _shift(a, b, level)
    ratio, least, most = _exp([centre, low, high])
    word = "slower" if least > 1 + threshold else "faster" if most < 1 / (1 + threshold) else "can't tell"
    normal = NormalDist()
    farther = 1 + normal.inv_cdf(POWER) / normal.inv_cdf((1 + level) / 2)
    detectable = (1 + threshold) * _exp(farther * max(high - centre, centre - low)) - 1
    return Verdict(word, float(ratio), float(least), float(most), float(detectable))


def harmonic_mean_rate(work: float, times: Sequence[float]) -> float:
    """Rate over pieces of `work` each that took `times`: total work over total time, in work per second.

    This is the harmonic mean of the single rates (Hoefler and Belli 2015); their arithmetic mean is not a
    rate that anything ran at.
    """
    seconds = _times(times, "the list of times")
    if not (np.isfinite(work) and work >= 0):
        raise LadderError(f"The work of a piece is {work}, but must be finite and at least 0: mend its cost.")
    return float(work * seconds.size / seconds.sum())


def _times(samples: Sequence[float], where: str) -> np.ndarray:
    """Samples as float64, shape (n,), n >= 1, all of them possible durations."""
    try:
        times = np.asarray(samples, dtype=np.float64)
    except (TypeError, ValueError):
        times = np.empty(0)
    if times.ndim != 1 or times.size == 0:
        raise LadderError(f"In {where} there should be a flat list of at least one time: measure the case again.")
    wrong = np.flatnonzero(~(np.isfinite(times) & (times > 0)))
    if wrong.size:
        raise LadderError(
            f"In {where}, sample {wrong[0] + 1} is {times[wrong[0]]} s, but a time is finite and above zero: "
            "measure the case again, with more work per sample if the clock ticks too coarsely for it."
        )
    return times


def _processes(processes: Sequence[Sequence[float]], where: str) -> list[np.ndarray]:
    """One array of times per process, at least one process."""
    if len(processes) == 0:
        raise LadderError(f"In {where} there is no process with samples: measure the case again.")
    return [_times(samples, f"process {i} of {where}") for i, samples in enumerate(processes, 1)]


def _log_medians(processes: list[np.ndarray]) -> np.ndarray:
    return np.log([np.median(times) for times in processes])


def _exp(logarithms) -> np.ndarray:
    with np.errstate(over="ignore"):  # inf is the honest end of an interval that wide
        return np.exp(logarithms)


def _location(values: np.ndarray, level: float) -> tuple[float, float, float]:
    """Median of `values` and its rank interval; with too few for one, their mean and its t interval."""
    k = _median_rank(values.size, level)
    if k:
        return _between_ranks(values, k)
    mean, error, freedom = _mean(values)
    return _t_interval(mean, error, freedom, level)


def _shift(a: np.ndarray, b: np.ndarray, level: float) -> tuple[float, float, float]:
    """Shift from b to a: the median of all differences, and the interval that inverts the rank-sum test.

    J. Hodges and E. Lehmann, Annals of Mathematical Statistics 34, 1963. With too few values for it,
    Welch's.
    """
    k = _shift_rank(a.size, b.size, level)
    return _between_ranks(np.subtract.outer(a, b).ravel(), k) if k else _welch(a, b, level)


def _welch(a: np.ndarray, b: np.ndarray, level: float) -> tuple[float, float, float]:
    """Difference of means and its t interval for unequal variances (B. L. Welch, Biometrika 34, 1947)."""
    (mean_a, error_a, freedom_a), (mean_b, error_b, freedom_b) = _mean(a), _mean(b)
    error, freedom = np.hypot(error_a, error_b), min(freedom_a, freedom_b)
    if 0 < error < np.inf:
        freedom = 1 / ((error_a / error) ** 4 / freedom_a + (error_b / error) ** 4 / freedom_b)
    return _t_interval(mean_a - mean_b, error, freedom, level)


def _between_ranks(values: np.ndarray, k: int) -> tuple[float, float, float]:
    """Median, k-th smallest and k-th largest of the values."""
    ordered = np.sort(values)
    return np.median(ordered), ordered[k - 1], ordered[-k]


def _mean(values: np.ndarray) -> tuple[float, float, int]:
    """Mean, its standard error (inf for one value) and the degrees of freedom."""
    freedom = values.size - 1
    error = values.std(ddof=1) / np.sqrt(values.size) if freedom else np.inf
    return values.mean(), error, freedom


def _t_interval(centre: float, error: float, freedom: float, level: float) -> tuple[float, float, float]:
    """Centre and its two-sided interval by Student's t; infinite without a degree of freedom."""
    if freedom <= 0:
        return centre, -np.inf, np.inf
    from scipy.special import stdtrit  # here, because a measuring job need not wait for its import

    half_width = error * stdtrit(freedom, (1 + level) / 2)
    return centre, centre - half_width, centre + half_width


@cache
def _median_rank(n: int, level: float) -> int:
    """Rank of the ends of the interval of the median of n values; 0 if there is none at the level.

    The number of values below the median is binomial: comb(n, k) of 2**n equally likely outcomes.
    """
    return _rank(accumulate(range(n), lambda ways, k: ways * (n - k) // (k + 1), initial=1), 2**n, level)


@cache
def _shift_rank(m: int, n: int, level: float) -> int:
    """Rank, among m*n differences, of the ends of the interval of a shift; 0 if there is none at the level.

    The number of negative differences is Mann and Whitney's U. Its ways are the coefficients of the Gaussian
    binomial, the product over i = 1..m of (1 - q**(n+i)) / (1 - q**i), of comb(m+n, m) in all.
    """
    ways = [1] + [0] * (m * n)
    for i in range(1, m + 1):
        for u in range(m * n, n + i - 1, -1):
            ways[u] -= ways[u - n - i]
        for u in range(i, m * n + 1):
            ways[u] += ways[u - i]
    return _rank(ways, comb(m + n, m), level)


def _rank(ways: Iterable[int], total: int, level: float) -> int:
    """Largest k with 2 P(count < k) <= 1 - level, where `ways[c]` of `total` outcomes give the count c."""
    allowed = int((1 - level) / 2 * 2**53) * total >> 53
    return next(k for k, below in enumerate(accumulate(ways)) if below > allowed)


def _checked_level(level: float) -> float:
    if not 0 < level < 1:
        raise LadderError(f"The level of an interval is {level}, but must lie between 0 and 1, such as 0.95.")
    return level
