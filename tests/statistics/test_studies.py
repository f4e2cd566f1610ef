"""A thousand simulated studies with known answers: at most 1 % of the verdicts are wrong, the level that they state.

Each case has ten processes, as headline cases have, so that intervals go by ranks.
"""

import math
from functools import cache
from statistics import NormalDist

import numpy as np
import pytest

from ladder.statistics.claims import decide, exact_quotient, quotient
from ladder.statistics.selection import choose_best, split_processes
from ladder.statistics.verdicts import outcome_of

STUDIES, PROCESSES = 1000, 10
WRONG = 0.01
EDGE = 1.1  # the margin: where a verdict turns into another is where most go wrong
# What a process's time may differ by, in logarithms: one state, or two, the slow one in three processes of ten.
NOISE = {
    "one state": lambda rng, shape: 0.03 * rng.standard_normal(shape),
    "two states": lambda rng, shape: (
        math.log(20.4 / 18.8) * (rng.random(shape) < 0.3) + 0.002 * rng.standard_normal(shape)
    ),
    "heavy": lambda rng, shape: 0.02 * rng.standard_t(2.5, shape),
}
# What takes long is tried with all of them by `make test-slow`.
FIRST = ["one state", *(pytest.param(kind, marks=pytest.mark.slow) for kind in NOISE if kind != "one state")]
# The median of a process's time.
MEDIAN = {"one state": 1.0, "two states": math.exp(0.002 * NormalDist().inv_cdf(0.5 / 0.7)), "heavy": 1.0}


def processes(kind, cases):
    """Seconds of a sample of each process in STUDIES studies of equal cases: (STUDIES, cases, PROCESSES, 1)."""
    return np.exp(NOISE[kind](np.random.default_rng(1), (STUDIES, cases, PROCESSES, 1)))


@cache
def equals(kind):
    """The ratio in each study of two cases with equal times."""
    return [quotient(one, other) for one, other in processes(kind, 2)]


def words(kind, true, claimed):
    """Each study's verdict on a claim about a ratio whose true value is `true`."""
    return [decide(found.times(true), *claimed).verdict for found in equals(kind)]


@pytest.mark.parametrize("kind", NOISE)
@pytest.mark.parametrize(
    ("true", "claimed", "right"),
    [
        (3.0, (2.0,), "confirmed"),
        (1.5, (2.0,), "weaker"),
        (0.8, (2.0,), "refuted"),
        (1.0, (1.0, 1.0), "confirmed"),
        (1.4, (1.0, 1.0), "refuted"),
        # Where two verdicts meet: a hair short of the claim, of a direction at all, and of equality.
        (1.999 / EDGE, (2.0,), "weaker"),
        (0.999 * EDGE, (2.0,), "refuted"),
        (1.001 * EDGE, (1.0, 1.0), "refuted"),
    ],
)
def test_verdicts_on_claims_are_right_or_undecided(kind, true, claimed, right):
    assert np.mean([word not in (right, "undecided") for word in words(kind, true, claimed)]) <= WRONG


@pytest.mark.parametrize(("kind", "share"), [("one state", 0.99), ("two states", 0.7), ("heavy", 0.9)])
def test_plain_answers_are_given(kind, share):
    """Verdicts that are never wrong because all are undecided would be useless."""
    for true, right in [(3.0, "confirmed"), (1.5, "weaker"), (0.8, "refuted")]:
        assert np.mean([word == right for word in words(kind, true, (2.0,))]) >= share


@pytest.mark.parametrize("kind", NOISE)
def test_a_program_beside_itself_is_neither_faster_nor_slower(kind):
    assert np.mean([outcome_of(one.low, one.high) in ("faster", "slower") for one in equals(kind)]) <= WRONG


@pytest.mark.parametrize("kind", FIRST)
def test_the_best_of_equals_is_no_faster_than_another_of_them(kind):
    """Eight tunings without effect: the winner is random."""
    wrong = []
    for other, *cases in processes(kind, 9):
        best, tested = choose_best(dict(enumerate(cases)))
        found = quotient(other, cases[best], test_processes=tested)
        wrong.append(found.low > 1.0)
    assert np.mean(wrong) <= WRONG


def test_luck_would_win_where_the_best_is_chosen_and_tested_on_the_same_processes():
    """The selection bias that separate processes avoid occurs here."""
    wrong = [quotient(other, min(cases, key=np.median)).low > 1.0 for other, *cases in processes("one state", 17)]
    assert np.mean(wrong) > 2 * WRONG


def test_the_interval_of_a_best_case_holds_the_quotient_of_the_shown_times():
    other, *cases = processes("one state", 9)[0]
    best, tested = choose_best(dict(enumerate(cases)))
    found = quotient(other, cases[best], test_processes=tested)
    assert found.value == np.median(other) / np.median(cases[best])
    assert found.low <= found.value <= found.high


@pytest.mark.parametrize("kind", NOISE)
def test_a_time_at_its_floor_is_not_said_to_be_beyond_it(kind):
    """The lower bound is exact; it is the true median."""
    found = [exact_quotient(one, MEDIAN[kind]) for (one,) in processes(kind, 1)]
    assert np.mean([one.low > 1.0 or one.high < 1.0 for one in found]) <= WRONG


@pytest.mark.parametrize(
    ("count", "choose", "test"),
    [(1, [0], [0]), (2, [1], [0]), (3, [1], [0, 2]), (5, [1, 3], [0, 2, 4]), (10, [1, 3, 5, 7, 9], [0, 2, 4, 6, 8])],
)
def test_no_process_both_chooses_and_tests_but_a_lone_one(count, choose, test):
    assert split_processes(list(range(count))) == (choose, test)


def test_a_lone_process_confirms_no_choice():
    best, tested = choose_best({"slow": [[2.0]], "fast": [[1.0]]})
    assert best == "fast"
    assert quotient([[2.0]], [[1.0]], test_processes=tested).low == 0.0
