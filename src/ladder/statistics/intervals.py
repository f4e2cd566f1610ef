"""Medians with confidence intervals.

A case is timed in several fresh processes with several samples each. The samples of one process share its
page placement, its address-space layout and the state of the machine at that moment, so they are not
independent: the process is the unit of replication, and more samples in a process do not replace more
processes. We therefore compare one number per process, the logarithm of its median: the median
removes outliers within a process, the logarithm makes ratios symmetric. The intervals of these numbers are rank
intervals, which are robust against single slow processes. If no rank interval reaches the level (at 95 %, with fewer
than 6 processes of one case or 4 of each of two), we use Student's t. It is only approximate if processes fall into a
fast and a slow group: in simulations 93 % of such intervals contained the true value instead of 95 %, and 2 % of the
outcomes of `verdicts.compare` were false instead of 1 %.

Times are in seconds; functions that take samples raise `LadderError` for times that aren't finite and positive. With
too few samples or processes, the interval is (0, inf): all that is known about a time, or about a ratio of times.

Sources: T. Kalibera and R. Jones, "Rigorous benchmarking in reasonable time", ISMM 2013 (repetition at the
level that varies, effect sizes with intervals); T. Hoefler and R. Belli, "Scientific benchmarking of parallel
computing systems", SC 2015 (rank intervals of medians); T. Mytkowicz et al.,
"Producing wrong data without doing anything obviously wrong!", ASPLOS 2009 (systematic offsets of processes).
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import accumulate

import numpy as np
from numpy.typing import ArrayLike

from ladder.errors import LadderError


@dataclass(frozen=True)
class Summary:
    """The median of a case's times and its 95 % interval, in seconds, from `n` samples of `processes` processes.

    `relative_half_width` is the larger distance from the median to an end of the interval, divided by the median.
    """

    median: float
    low: float
    high: float
    n: int
    processes: int
    relative_half_width: float


def median_interval(samples: Sequence[float], level: float = 0.95) -> tuple[float, float, float]:
    """Median of independent samples and its distribution-free interval: (median, low, high), in seconds.

    The interval runs from the k-th smallest to the k-th largest sample, with the largest k that keeps its
    coverage, 1 - 2 P(Binomial(n, 1/2) < k), at `level` or above (Hoefler and Belli 2015). Below 6 samples no
    k reaches 95 % (the range of 5 samples covers 93.75 %), and the interval is (0, inf).
    For samples from several processes use `summary`.
    """
    times = require_times(samples, "the list of samples")
    k = median_rank(times.size, require_level(level))
    median, low, high = between_ranks(times, k) if k else (median_of(times), 0.0, np.inf)
    return float(median), float(low), float(high)


def summary(processes: Sequence[Sequence[float]]) -> Summary:
    """Median over all samples with a 95 % interval that accounts for their clustering in processes.

    The interval is that of the median of the process medians, widened to the rank interval (or range) of
    the pooled samples, which contains the median over all samples and guards against process medians that
    agree by chance or because of the clock's resolution. With one process the interval is (0, inf).
    """
    times = require_processes(processes, "the case")
    pooled = np.sort(np.concatenate(times))
    _, low, high = exp_or_inf(location(log_medians(times), 0.95))
    k = max(median_rank(pooled.size, 0.95), 1)
    low, high, median = min(low, pooled[k - 1]), max(high, pooled[-k]), median_of(pooled)
    half_width = max(high - median, median - low) / median
    return Summary(float(median), float(low), float(high), pooled.size, len(times), float(half_width))


def have_converged(processes: Sequence[Sequence[float]], target: float) -> bool:
    """Whether both ends of the 95 % interval by `summary` differ from the median by at most the fraction `target`.

    If processes differ, only more processes narrow the interval, not more samples of the same processes.
    """
    return summary(processes).relative_half_width <= target


def require_times(samples: Sequence[float], context: str) -> np.ndarray:
    """Samples as float64, shape (n,), n >= 1, all finite and positive.

    Raises LadderError for other samples; its sentence names them by `context`.
    """
    try:
        times = np.asarray(samples, dtype=np.float64)
    except (TypeError, ValueError):
        times = np.empty(0)
    if times.ndim != 1 or times.size == 0:
        raise LadderError(f"In {context} there should be a flat list of at least one time: measure the case again.")
    invalid = ~(np.isfinite(times) & (times > 0))
    if invalid.any():
        first = invalid.argmax()
        raise LadderError(
            f"In {context}, sample {first + 1} is {times[first]} s, but a time is finite and above zero: "
            "measure the case again, with more work per sample if the clock ticks too coarsely for it."
        )
    return times


def require_processes(processes: Sequence[Sequence[float]], context: str) -> list[np.ndarray]:
    """One array of times, shape (n,), per process. Raises LadderError without processes or for invalid times."""
    if len(processes) == 0:
        raise LadderError(f"In {context} there is no process with samples: measure the case again.")
    return [require_times(samples, f"process {i} of {context}") for i, samples in enumerate(processes, 1)]


def log_medians(processes: list[np.ndarray]) -> np.ndarray:
    """The logarithm of each process's median."""
    return np.log([median_of(times) for times in processes])


def median_of(times: np.ndarray) -> float:
    """NumPy's median, bitwise equal and ten times faster for the few samples of a process."""
    ordered, half = np.sort(times), times.size // 2
    return ordered[half] if times.size % 2 else (ordered[half - 1] + ordered[half]) / 2


def exp_or_inf(logarithms: ArrayLike) -> np.ndarray:
    """The exponentials; inf, without a warning, where one overflows, as the end of a very wide interval does."""
    with np.errstate(over="ignore"):
        return np.exp(logarithms)


def location(values: np.ndarray, level: float) -> tuple[float, float, float]:
    """Median of `values` and its rank interval; with too few values, their mean and its t interval."""
    k = median_rank(values.size, level)
    if k:
        return between_ranks(values, k)
    mean, error, freedom = mean_and_error(values)
    return t_interval(mean, error, freedom, level)


def between_ranks(values: np.ndarray, k: int) -> tuple[float, float, float]:
    """Median, k-th smallest and k-th largest of the values."""
    ordered = np.sort(values)
    return median_of(ordered), ordered[k - 1], ordered[-k]


def mean_and_error(values: np.ndarray) -> tuple[float, float, int]:
    """Mean, its standard error (inf for one value) and the degrees of freedom."""
    freedom = values.size - 1
    error = values.std(ddof=1) / np.sqrt(values.size) if freedom else np.inf
    return values.mean(), error, freedom


def t_interval(centre: float, error: float, freedom: float, level: float) -> tuple[float, float, float]:
    """Centre and its two-sided interval by Student's t; infinite without a degree of freedom."""
    if freedom <= 0:
        return centre, -np.inf, np.inf
    half_width = error * student_quantile()(freedom, (1 + level) / 2)
    return centre, centre - half_width, centre + half_width


def student_quantile() -> Callable[[float, float], float]:
    """SciPy's function (degrees of freedom, p) for quantiles of Student's t, imported late because that is slow."""
    from scipy.special import stdtrit

    return stdtrit


@cache
def median_rank(n: int, level: float) -> int:
    """Rank k of the interval of the median of n values, from the k-th smallest to the k-th largest; 0 if none suffices.

    The number of values below the true median is binomial: comb(n, k) of 2**n equally likely outcomes give k.
    """
    return rank_of(accumulate(range(n), lambda ways, k: ways * (n - k) // (k + 1), initial=1), 2**n, level)


def rank_of(ways: Iterable[int], total: int, level: float) -> int:
    """Largest k with 2 P(count < k) <= 1 - level, where `ways[c]` of `total` outcomes give the count c."""
    allowed = int((1 - level) / 2 * 2**53) * total >> 53  # in integers, because 2**n exceeds a float for many values
    return next(k for k, cumulative in enumerate(accumulate(ways)) if cumulative > allowed)


def require_level(level: float) -> float:
    if not 0 < level < 1:
        raise LadderError(f"The level of an interval is {level}, but must lie between 0 and 1, such as 0.95.")
    return level
