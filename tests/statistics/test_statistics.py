"""Intervals keep their coverage, and verdicts their level, under noise like that of real machines."""

import subprocess
import sys
from itertools import combinations

import numpy as np
import pytest

from ladder.errors import LadderError
from ladder.statistics.intervals import have_converged, log_medians, median_interval, summary
from ladder.statistics.verdicts import (
    EQUAL,
    FASTER,
    SLOWER,
    UNDECIDED,
    compare,
    equal_within,
    outcome_of,
    shift_rank,
    welch,
)

NO_DIFFERENCE = EQUAL, UNDECIDED


@pytest.fixture(scope="module")
def stats():
    """SciPy's statistics, imported only by the process that runs these tests, because that takes a second."""
    from scipy import stats

    return stats


def simulate(
    rng,
    count,
    process_sd=0.01,
    sample_sd=0.01,
    mode_slowdown=0.0,
    has_heavy_tails=False,
    outlier_share=0.0,
    correlation=0.0,
    drift_sd=0.0,
):
    """Simulated times of one kernel, measured twice in ABBA order, with a true median close to 1 s.

    The shape is (2, count, 10): measurements, processes, samples. `process_sd` and `sample_sd` are the standard
    deviations between and within processes, in logarithms; `mode_slowdown` is the slowdown of three processes in ten.
    With `has_heavy_tails`, processes follow Student's t with 2.5 degrees of freedom. `outlier_share` is the share of
    samples that take 2 to 5 times longer, `correlation` is the correlation of successive samples, and `drift_sd` the
    standard deviation of the machine's total drift.
    """
    shape = (2, count, 10)
    offset = rng.standard_t(2.5, shape[:2]) if has_heavy_tails else rng.standard_normal(shape[:2])
    offset = process_sd * offset + mode_slowdown * (rng.random(shape[:2]) < 0.3)
    noise = rng.standard_normal(shape)
    for i in range(1, shape[2]):
        noise[..., i] = correlation * noise[..., i - 1] + np.sqrt(1 - correlation**2) * noise[..., i]
    drift = drift_sd * rng.standard_normal(2 * count * shape[2]).cumsum() / np.sqrt(2 * count * shape[2])
    drift = drift.reshape(count, 2, shape[2]).swapaxes(0, 1)
    drift[:, 1::2] = drift[::-1, 1::2].copy()
    times = np.exp(offset[..., None] + sample_sd * noise + drift)
    return np.where(rng.random(shape) < outlier_share, times * rng.uniform(2, 5, shape), times)


NOISE = {
    "normal": {"process_sd": 0.04},
    "outliers": {"process_sd": 0.03, "outlier_share": 0.1},
    "heavy": {"process_sd": 0.03, "has_heavy_tails": True},
    "modes": {"mode_slowdown": 0.1},
    "correlated": {"process_sd": 0.02, "sample_sd": 0.05, "correlation": 0.9},
    "drifting": {"process_sd": 0.02, "drift_sd": 0.2},
}


def share_of_outcomes(outcomes, rng, count, factor, repeats, noise=None, **options):
    """The share of comparisons, of a kernel slowed down by `factor` with itself, whose outcome is one of `outcomes`."""
    pairs = (simulate(rng, count, **(noise or {})) for _ in range(repeats))
    return np.mean([compare(factor * a, b, **options).outcome in outcomes for a, b in pairs])


def standard_error(share, count):
    """The standard error of a share among `count` simulations."""
    return np.sqrt(share * (1 - share) / count)


# --- the median and its rank interval ---


@pytest.mark.parametrize(
    # The largest rank with 2 P(Binomial(n, 1/2) < rank) <= 0.05. This probability is 2/64 for n = 6, 20/512 for 9
    # and 22/1024 for 10; for n = 8, rank 2 would have 18/256, which is too much.
    ("n", "rank"),
    [(6, 1), (8, 1), (9, 2), (10, 2), (12, 3), (17, 5), (65, 25)],
)
def test_rank_interval_has_the_ranks_of_the_binomial(n, rank):
    times = np.random.default_rng(n).permutation(n) + 1.0
    assert median_interval(times) == ((n + 1) / 2, rank, n + 1 - rank)


@pytest.mark.parametrize("level", [0.5, 0.9, 0.95, 0.99])
def test_rank_interval_is_the_narrowest_that_covers(stats, level):
    for n in range(1, 200):
        _, low, high = median_interval(np.arange(1.0, n + 1), level)
        if low == 0:
            assert high == np.inf
            assert 1 - 2 * stats.binom.cdf(0, n, 0.5) < level
        else:
            assert 1 - 2 * stats.binom.cdf(low - 1, n, 0.5) >= level - 1e-12
            assert 1 - 2 * stats.binom.cdf(low, n, 0.5) < level


def test_too_few_samples_have_an_infinite_interval():
    assert median_interval([3.0]) == (3.0, 0.0, np.inf)
    assert median_interval([5.0, 1.0, 4.0, 2.0, 3.0]) == (3.0, 0.0, np.inf)
    assert median_interval([5.0, 1.0, 4.0, 2.0, 3.0], level=0.9375) == (3.0, 1.0, 5.0)  # covers exactly that


@pytest.mark.parametrize(("m", "n"), [(1, 1), (3, 3), (3, 5), (5, 3), (4, 4), (5, 5), (4, 7), (1, 50)])
@pytest.mark.parametrize("level", [0.8, 0.95, 0.99])
def test_shift_rank_agrees_with_all_orders_of_the_samples(m, n, level):
    """It is the largest rank with 2 P(U < rank) <= 1 - level; U is Mann and Whitney's."""
    u_statistics = [sum(positions) - m * (m - 1) // 2 for positions in combinations(range(m + n), m)]
    rank = shift_rank(m, n, level)
    assert 2 * np.mean(np.array(u_statistics) < rank) <= 1 - level + 1e-12
    assert 2 * np.mean(np.array(u_statistics) < rank + 1) > 1 - level


# --- a case ---


@pytest.mark.parametrize("count", [3, *(pytest.param(count, marks=pytest.mark.slow) for count in (5, 6)), 9])
@pytest.mark.parametrize("kind", ["normal", "outliers", "heavy", "modes", "correlated"])
def test_summary_covers_the_median_in_spite_of_clustering(kind, count):
    rng = np.random.default_rng(1)
    true_median = np.median(simulate(rng, 4000, **NOISE[kind]))
    summaries = [summary(times) for _ in range(500) for times in simulate(rng, count, **NOISE[kind])]
    level = 0.93 if kind == "modes" and count < 6 else 0.95  # Student's t is only approximate for two modes
    coverage = np.mean([result.low <= true_median <= result.high for result in summaries])
    assert coverage >= level - 3 * standard_error(level, len(summaries))


def test_an_interval_of_pooled_samples_would_not_cover():
    """A rank interval that ignores processes is too narrow: processes differ more than their samples."""
    rng = np.random.default_rng(1)
    pooled = [median_interval(simulate(rng, 5, **NOISE["normal"])[0].ravel()) for _ in range(300)]
    assert np.mean([low <= 1 <= high for _, low, high in pooled]) < 0.7


def test_summary_of_uneven_processes():
    result = summary([[1.0] * 17, [1.2], [1.1] * 65])
    assert (result.median, result.n, result.processes) == (1.1, 83, 3)
    assert result.low < 1.0 < 1.2 < result.high
    assert result.relative_half_width == pytest.approx(max(result.high - 1.1, 1.1 - result.low) / 1.1)


def test_one_process_has_an_infinite_interval():
    result = summary([[1.0, 1.01, 0.99] * 10])
    assert (result.median, result.low, result.high, result.relative_half_width) == (1.0, 0.0, np.inf, np.inf)
    assert not have_converged([[1.0] * 100], target=0.5)


def test_convergence_requires_processes_not_samples():
    rng = np.random.default_rng(2)
    few = np.exp(np.array([[-0.02], [0.0], [0.02]]) + 0.01 * rng.standard_normal((3, 2000)))
    many = np.exp(0.02 * rng.standard_normal((40, 1)) + 0.01 * rng.standard_normal((40, 10)))
    assert not have_converged(few, target=0.02)
    assert have_converged(many, target=0.02)
    assert not have_converged(many, target=0.001)


# --- two cases ---


@pytest.mark.parametrize("count", [3, 5, 12])
def test_welchs_interval_covers_although_one_case_is_ten_times_noisier(count):
    rng = np.random.default_rng(4)
    pairs = [(2 * simulate(rng, count, 0.05)[0], simulate(rng, count, 0.005)[0]) for _ in range(500)]
    intervals = [np.exp(welch(*map(log_medians, pair), 0.95)) for pair in pairs]
    assert np.mean([low <= 2 <= high for _, low, high in intervals]) >= 0.95 - 3 * standard_error(0.95, 500)


@pytest.mark.parametrize("counts", [(3, 3), (3, 9), (9, 3)])
def test_welchs_interval_is_that_of_scipy(stats, counts):
    rng = np.random.default_rng(15)
    a, b = (rng.normal(0.0, noise, count) for noise, count in zip((0.5, 0.1), counts, strict=True))
    expected = stats.ttest_ind(a, b, equal_var=False).confidence_interval(0.99)
    assert welch(a, b, 0.99) == pytest.approx((a.mean() - b.mean(), *expected))


@pytest.mark.parametrize("paired", [False, True])
@pytest.mark.parametrize("count", [3, 4, 5, 9])
def test_comparison_says_which_is_slower(count, paired):
    slow, fast = 2 * simulate(np.random.default_rng(5), count, 0.001, 0.001)[0], np.ones((count, 10))
    verdict, inverse = compare(slow, fast, paired=paired), compare(fast, slow, paired=paired)
    assert (verdict.outcome, inverse.outcome) == ("slower", "faster")
    assert verdict.low <= verdict.ratio <= verdict.high
    assert verdict.ratio == pytest.approx(2, rel=0.01)
    assert (inverse.low, inverse.ratio, inverse.high) == pytest.approx(
        (1 / verdict.high, 1 / verdict.ratio, 1 / verdict.low)
    )


# Few processes are compared by Student's t, five or, in pairs, eight of them by ranks.
@pytest.mark.parametrize(
    ("count", "paired"),
    [
        (5, False),
        (3, True),
        *(pytest.param(*parameters, marks=pytest.mark.slow) for parameters in [(3, False), (8, True)]),
    ],
)
@pytest.mark.parametrize("kind", NOISE)
def test_a_kernel_compared_with_itself_shows_no_difference(kind, count, paired):
    rng, repeats = np.random.default_rng(6), 600
    no_difference = share_of_outcomes(NO_DIFFERENCE, rng, count, 1, repeats, NOISE[kind], paired=paired, threshold=0)
    error_rate = 0.02 if kind == "modes" and count == 3 else 0.01  # Student's t is only approximate for two modes
    assert 1 - no_difference <= error_rate + 3 * standard_error(error_rate, repeats)


@pytest.mark.parametrize("count", [3, 5, 20])
def test_unequal_noise_is_no_difference(count):
    rng = np.random.default_rng(13)
    pairs = ((simulate(rng, count, 0.05)[0], simulate(rng, count, 0.005, 0.005)[0]) for _ in range(500))
    assert np.mean([compare(a, b, threshold=0).outcome not in NO_DIFFERENCE for a, b in pairs]) <= 0.05


def test_pooled_samples_would_distinguish_a_kernel_from_itself(stats):
    """A rank test that ignores processes finds differences that are only those between processes."""
    rng = np.random.default_rng(6)
    pairs = (simulate(rng, 5, **NOISE["normal"]) for _ in range(200))
    assert np.mean([stats.mannwhitneyu(a.ravel(), b.ravel()).pvalue < 0.05 for a, b in pairs]) > 0.3


@pytest.mark.parametrize(("paired", "count"), [(False, 5), (True, 8)])
def test_a_change_of_five_per_cent_is_detected_if_processes_differ_by_one_per_cent(paired, count):
    assert share_of_outcomes([SLOWER], np.random.default_rng(7), count, 1.05, 300, paired=paired) >= 0.8
    assert share_of_outcomes([FASTER], np.random.default_rng(7), count, 1 / 1.05, 300, paired=paired) >= 0.8


def test_a_change_of_five_per_cent_is_detected_although_some_processes_run_at_half_speed():
    """Another load slows down one process in ten; with this variance, Student's t would not detect the change."""

    def slow_down(times):
        return times * np.where(rng.random((20, 1)) < 0.1, 2, 1)

    rng = np.random.default_rng(8)
    pairs = (simulate(rng, 20) for _ in range(200))
    assert np.mean([compare(1.05 * slow_down(a), slow_down(b)).outcome == "slower" for a, b in pairs]) >= 0.95


def test_changes_below_the_noise_are_undecided():
    """A change of 5 %, between processes that differ by 8 %."""
    rng = np.random.default_rng(9)
    verdicts = [compare(1.05 * a, b) for a, b in (simulate(rng, 5, 0.08) for _ in range(200))]
    undecided = [verdict for verdict in verdicts if verdict.outcome == UNDECIDED]
    assert len(undecided) >= 0.8 * len(verdicts)
    assert np.mean([verdict.detectable > 0.05 for verdict in undecided]) >= 0.99


@pytest.mark.parametrize("count", [3, 5, 10])
def test_the_detectable_change_is_detected_in_about_four_of_five(count):
    rng = np.random.default_rng(10)
    change = np.median([compare(*simulate(rng, count)).detectable for _ in range(200)])
    assert 0.65 <= share_of_outcomes([SLOWER], rng, count, 1 + change, 300) <= 0.97
    assert share_of_outcomes([SLOWER], rng, count, 1 + change / 2, 300) <= 0.4


def test_changes_below_the_threshold_do_not_count():
    a, b = simulate(np.random.default_rng(11), 10, 0.001, 0.001)
    assert compare(1.02 * a, b, threshold=0.0).outcome == "slower"
    assert compare(1.02 * a, b, threshold=0.05).outcome == "equal"
    assert compare(a, 1.02 * b, threshold=0.0).outcome == "faster"
    assert compare(a, 1.02 * b, threshold=0.05).outcome == "equal"
    assert compare(a, b, threshold=0.05).detectable > 0.05


def test_an_interval_that_ends_at_the_threshold_is_not_beyond_it():
    assert outcome_of(1.01, 1.05) == outcome_of(1 / 1.05, 1 / 1.01) == EQUAL
    assert [outcome_of(1.0101, 1.05), outcome_of(1 / 1.05, 1 / 1.0101)] == [SLOWER, FASTER]


@pytest.mark.parametrize(
    ("low", "high", "per_cents"),
    [
        (0.999, 1.001, 1),
        (0.98, 1.01, 3),  # 1 / 0.98 is 1.0204
        (0.99, 1.05, 5),
        (1 / 1.1, 1.1, 10),
        (0.9, 1.0, None),
        (1.0, 1.11, None),
        (0.0, np.inf, None),
    ],
)
def test_equal_within_is_the_smallest_whole_per_cent_that_holds(low, high, per_cents):
    assert equal_within(low, high) == per_cents


def test_equal_cases_are_distinguished_from_noisy_ones():
    """Processes differ by 0.5 %, so that the cases are equal within 2 %, or by 10 %."""
    quiet, noisy = (simulate(np.random.default_rng(14), 10, noise) for noise in (0.005, 0.1))
    verdict = compare(*quiet)
    assert (verdict.outcome, verdict.equal_percent) == (EQUAL, 2)
    assert compare(*noisy).outcome == UNDECIDED


def test_pairs_cancel_a_drift_that_hides_the_change_otherwise():
    rng = np.random.default_rng(12)
    drift = np.linspace(1.0, 1.5, 12)[:, None]
    a, b = simulate(rng, 12, 0.003, 0.003) * drift
    assert compare(1.05 * a, b).outcome == UNDECIDED
    assert compare(1.05 * a, b, paired=True).outcome == "slower"


# --- invalid times ---


@pytest.mark.parametrize("invalid", [[], [0.0], [1.0, -1.0], [np.nan], [1.0, np.inf], ["fast"], [[1.0]], 1.0, None])
def test_impossible_times_are_refused_in_every_argument(invalid):
    valid = [[1.0] * 10] * 3
    for call in (
        lambda: median_interval(invalid),
        lambda: summary([*valid, invalid]),
        lambda: have_converged([*valid, invalid], 0.02),
        lambda: compare([*valid, invalid], valid),
    ):
        with pytest.raises(LadderError, match="measure the case again"):
            call()


def test_the_error_names_the_process_and_the_sample():
    with pytest.raises(LadderError, match=r"process 2 of the second case, sample 3 is -1\.0 s"):
        compare([[1.0]] * 3, [[1.0], [1.0, 1.0, -1.0]])


def test_no_processes_are_refused():
    with pytest.raises(LadderError, match="no process"):
        summary([])


def test_pairs_must_be_complete():
    with pytest.raises(LadderError, match="the same number of processes"):
        compare([[1.0]] * 3, [[1.0]] * 4, paired=True)


@pytest.mark.parametrize("options", [{"level": 0}, {"level": 1}, {"level": np.nan}, {"threshold": -0.1}])
def test_senseless_options_are_refused(options):
    with pytest.raises(LadderError, match="must"):
        compare([[1.0]] * 3, [[1.0]] * 3, **options)


@pytest.mark.parametrize("paired", [False, True])
def test_one_process_decides_nothing(paired):
    a, b = [[5.0] * 10], [[1.0] * 10] * (1 if paired else 6)
    verdict = compare(a, b, paired=paired)
    assert (verdict.outcome, verdict.ratio) == (UNDECIDED, pytest.approx(5.0))
    assert (verdict.low, verdict.high, verdict.detectable) == (0.0, np.inf, np.inf)


@pytest.mark.filterwarnings("error")
def test_an_extreme_spread_gives_a_wide_interval_without_a_warning():
    result = summary([[1e-300] * 10, [1e300] * 10])
    assert (result.low, result.high) == (0.0, np.inf)
    assert compare([[1e-300], [1e300]], [[1.0], [2.0]]).outcome == UNDECIDED


def test_equal_medians_cause_no_division_by_zero():
    assert compare([[1.0] * 10] * 3, [[1.0] * 10] * 3).outcome == EQUAL
    assert compare([[1.0] * 10] * 3, [[2.0] * 10] * 3).outcome == "faster"
    assert summary([[0.5, 1.0, 1.5] * 4] * 3).high > 1.0  # the samples differ though the medians do not


def test_the_package_is_imported_without_scipy():
    """A measuring job doesn't wait for SciPy."""
    code = "import sys, ladder.statistics; sys.exit('scipy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
