"""A thousand simulated studies with known answers: at most 1 % of verdicts are wrong, as their level of 99 % states.

Each case has ten processes, like the most important cases of the paper, so intervals are by ranks.
"""

import math
from functools import cache
from statistics import NormalDist

import numpy as np
import pytest

from ladder.statistics.claims import decide
from ladder.statistics.quotients import exact_quotient, quotient
from ladder.statistics.selection import choose_best, split_processes
from ladder.statistics.verdicts import MARGIN, THRESHOLD, outcome_of

STUDIES, PROCESSES = 1000, 10
MAX_ERROR_RATE = 0.01
MARGIN_FACTOR = 1 + MARGIN  # most errors occur where one verdict turns into another
# Deviations of processes' times, in logarithms: one state; two, of which three processes in ten have the slow one
# (20.4 µs instead of 18.8 µs, say); or Student's t with 2.5 degrees of freedom, whose tails are heavy.
NOISE = {
    "one state": lambda rng, shape: 0.03 * rng.standard_normal(shape),
    "two states": lambda rng, shape: (
        math.log(20.4 / 18.8) * (rng.random(shape) < 0.3) + 0.002 * rng.standard_normal(shape)
    ),
    "heavy": lambda rng, shape: 0.02 * rng.standard_t(2.5, shape),
}
# The kinds of noise for slow tests; `make test` uses only the first.
MARKED_KINDS = ["one state", *(pytest.param(kind, marks=pytest.mark.slow) for kind in NOISE if kind != "one state")]
# The true median of a process's time. With two states, the fastest half are 0.5 / 0.7 of the processes in the fast one.
TRUE_MEDIANS = {"one state": 1.0, "two states": math.exp(0.002 * NormalDist().inv_cdf(0.5 / 0.7)), "heavy": 1.0}


def processes(kind, cases):
    """Seconds of one sample per process, in studies of equal cases: shape (STUDIES, cases, PROCESSES, 1)."""
    return np.exp(NOISE[kind](np.random.default_rng(1), (STUDIES, cases, PROCESSES, 1)))


@cache
def ratios_of_equals(kind):
    """For each study, the ratio of two cases with equal times."""
    return [quotient(a, b) for a, b in processes(kind, 2)]


def verdicts_of(kind, true_ratio, claimed):
    """For each study, the verdict on a claim about a ratio whose true value is `true_ratio`."""
    return [decide(ratio.times(true_ratio), *claimed).verdict for ratio in ratios_of_equals(kind)]


# `claimed` has the arguments of `decide`: the claimed ratio or its lower bound, and its upper bound if there is one.
@pytest.mark.parametrize("kind", NOISE)
@pytest.mark.parametrize(
    ("true_ratio", "claimed", "right_verdicts"),
    [
        (3.0, (2.0,), {"as claimed"}),
        (1.5, (2.0,), {"less than claimed"}),
        (0.8, (2.0,), {"the opposite", "less than claimed"}),
        (1.0, (1.0, 1.0), {"as claimed"}),
        (1.4, (1.0, 1.0), {"the opposite"}),
        (2.0, (1.5, 1.5), {"more than claimed"}),
        # Where two verdicts meet: just beyond the margin of a number, a direction's threshold, the margin of equality.
        (1.999 / MARGIN_FACTOR, (2.0,), {"less than claimed"}),
        (0.999 / (1 + THRESHOLD), (1.0,), {"the opposite", "no effect"}),
        (1.001 * MARGIN_FACTOR, (1.0, 1.0), {"the opposite"}),
    ],
)
def test_verdicts_on_claims_are_right_or_undecided(kind, true_ratio, claimed, right_verdicts):
    assert (
        np.mean([verdict not in right_verdicts | {"undecided"} for verdict in verdicts_of(kind, true_ratio, claimed)])
        <= MAX_ERROR_RATE
    )


@pytest.mark.parametrize(("kind", "min_share"), [("one state", 0.99), ("two states", 0.7), ("heavy", 0.9)])
def test_large_effects_are_decided(kind, min_share):
    """Verdicts that are never wrong because all are undecided would be useless."""
    for true_ratio, right_verdict in [(3.0, "as claimed"), (1.5, "less than claimed"), (0.8, "the opposite")]:
        assert np.mean([verdict == right_verdict for verdict in verdicts_of(kind, true_ratio, (2.0,))]) >= min_share


@pytest.mark.parametrize("kind", NOISE)
def test_a_program_compared_with_itself_is_neither_faster_nor_slower(kind):
    assert (
        np.mean([outcome_of(ratio.low, ratio.high) in ("faster", "slower") for ratio in ratios_of_equals(kind)])
        <= MAX_ERROR_RATE
    )


@pytest.mark.parametrize("kind", MARKED_KINDS)
def test_the_best_of_equals_is_no_faster_than_another_of_them(kind):
    """Eight tunings without effect: the winner is random."""
    wrong_verdicts = []
    for other, *tunings in processes(kind, 1 + 8):
        best, test_processes = choose_best(dict(enumerate(tunings)))
        ratio = quotient(other, tunings[best], test_processes=test_processes)
        wrong_verdicts.append(ratio.low > 1.0)
    assert np.mean(wrong_verdicts) <= MAX_ERROR_RATE


def test_choosing_and_testing_on_the_same_processes_would_be_biased():
    """The best of sixteen equal tunings seems faster too often: separate processes avoid this selection bias."""
    wrong_verdicts = [
        quotient(other, min(tunings, key=np.median)).low > 1.0 for other, *tunings in processes("one state", 1 + 16)
    ]
    assert np.mean(wrong_verdicts) > 2 * MAX_ERROR_RATE


def test_the_interval_of_a_best_case_contains_the_quotient_of_its_median():
    other, *tunings = processes("one state", 1 + 8)[0]
    best, test_processes = choose_best(dict(enumerate(tunings)))
    ratio = quotient(other, tunings[best], test_processes=test_processes)
    assert ratio.value == np.median(other) / np.median(tunings[best])
    assert ratio.low <= ratio.value <= ratio.high


@pytest.mark.parametrize("kind", NOISE)
def test_a_time_at_its_lower_bound_is_not_beyond_it(kind):
    """The lower bound is exactly the true median."""
    ratios = [exact_quotient(times, TRUE_MEDIANS[kind]) for (times,) in processes(kind, 1)]
    assert np.mean([ratio.low > 1.0 or ratio.high < 1.0 for ratio in ratios]) <= MAX_ERROR_RATE


@pytest.mark.parametrize(
    ("process_count", "choosing", "testing"),
    [(1, [0], [0]), (2, [1], [0]), (3, [1], [0, 2]), (5, [1, 3], [0, 2, 4]), (10, [1, 3, 5, 7, 9], [0, 2, 4, 6, 8])],
)
def test_no_process_both_chooses_and_tests_except_a_single_one(process_count, choosing, testing):
    assert split_processes(list(range(process_count))) == (choosing, testing)


def test_a_single_process_confirms_no_choice():
    best, test_processes = choose_best({"slow": [[2.0]], "fast": [[1.0]]})
    assert best == "fast"
    assert quotient([[2.0]], [[1.0]], test_processes=test_processes).low == 0.0
