"""Verdicts on claims: each of the five words, on either side of 1, and break-even points of two costs."""

import math

import numpy as np
import pytest

from ladder.errors import LadderError
from ladder.statistics import verdicts
from ladder.statistics.claims import Ratio, decide, median_time, exact_quotient, quotient
from ladder.statistics.crossings import break_even, crossing
from ladder.statistics.selection import choose_best


@pytest.mark.parametrize(
    ("low", "high", "claimed", "verdict"),
    [
        # At least three times, with a margin of a tenth.
        (2.9, 3.3, (3.0,), "confirmed"),
        (30.0, 33.0, (3.0,), "confirmed"),
        (1.2, 2.6, (3.0,), "weaker"),
        (2.6, 2.9, (3.0,), "undecided"),
        (1.05, 2.0, (3.0,), "undecided"),
        (1.01, 1.09, (3.0,), "refuted"),  # an effect, but none beyond the margin
        (0.3, 0.9, (3.0,), "refuted"),
        # Twice: an interval that is short of it, and a wide one that contains it.
        (1.1001, 1.3, (2.0,), "weaker"),
        (1.42, 8.64, (2.0,), "undecided"),
        # Three to four times, no more.
        (4.5, 5.0, (3.0, 4.0), "refuted"),
        (4.0, 5.0, (3.0, 4.0), "undecided"),
        # More than one, however little.
        (1.05, 1.2, (1.0,), "undecided"),
        (1.11, 1.2, (1.0,), "confirmed"),
        (0.5, 1.09, (1.0,), "refuted"),
        # As much.
        (0.95, 1.05, (1.0, 1.0), "confirmed"),
        (1.05, 1.15, (1.0, 1.0), "undecided"),
        (1.15, 1.3, (1.0, 1.0), "refuted"),
        (0.5, 0.8, (1.0, 1.0), "refuted"),
        # At most twice: as good as the best, and better.
        (1.02, 1.04, (0.0, 2.0), "confirmed"),
        (0.9, 0.95, (0.0, 2.0), "confirmed"),
        (1.9, 2.3, (0.0, 2.0), "undecided"),
        (2.3, 2.5, (0.0, 2.0), "refuted"),
        # From too few processes for an interval.
        (0.0, math.inf, (0.0, 2.0), "undecided"),
        (0.0, math.inf, (3.0,), "undecided"),
        (0.0, math.inf, (1.0, 1.0), "undecided"),
    ],
)
def test_the_whole_interval_decides_a_claim_of_either_direction(low, high, claimed, verdict):
    value = math.sqrt(low * high) if low else 2.0
    assert decide(Ratio(value, low, high), *claimed).verdict == verdict
    least, most = claimed[0], claimed[1] if len(claimed) > 1 else math.inf
    turned = Ratio(value, low, high).inverse()
    assert decide(turned, 1 / most if most < math.inf else 1e-300, 1 / least if least else math.inf).verdict == verdict


def test_what_was_not_measured_is_not_tested():
    assert decide(None, 2.0).verdict == "not tested"


@pytest.mark.parametrize("claimed", [(0.0, 0.0), (0.0, math.inf), (2.0, 1.0), (-1.0, 2.0)])
def test_a_claim_that_says_nothing_is_refused(claimed):
    with pytest.raises(LadderError, match="says nothing"):
        decide(Ratio(1.0, 0.9, 1.1), *claimed)


def test_a_quotient_is_that_of_the_numbers_in_the_tables():
    """Processes count once each, however many samples they have."""
    one, other = [[4.0] * 9, [6.0], [8.0, 8.0]], [[2.0], [2.0, 9.0, 1.0], [3.0]]
    assert (median_time(one), median_time(other)) == (6.0, 2.0)
    assert quotient(one, other).value == 3.0


def test_a_quotients_interval_goes_by_ranks_and_holds_the_quotient():
    rng = np.random.default_rng(1)
    one, other = (np.exp(rng.normal(centre, 0.1, (10, 3))) for centre in (0.5, 0.0))
    found, due = quotient(one, other), verdicts.compare(one, other, level=0.99)
    assert found.low <= found.value <= found.high
    assert (found.low, found.high) == (pytest.approx(due.low), pytest.approx(due.high))


def test_one_process_of_each_leaves_everything_undecided():
    found = quotient([[1.0, 1.1]], [[2.0, 2.1]])
    assert (found.low, found.high) == (0.0, math.inf)
    assert found.detectable() == math.inf


def test_a_ratio_keeps_the_cases_that_it_rests_on_and_is_no_other_for_them():
    cases = (("here", "gemm", "blas", "n=1,cache=cold"),)
    found = quotient([[2.0]] * 5, [[1.0]] * 5, cases)
    assert found.inverse().cases == found.times(3.0).cases == decide(found, 1, 3).ratio.cases == cases
    assert found == quotient([[2.0]] * 5, [[1.0]] * 5)
    assert "gemm" not in repr(found)


def test_a_multiple_of_an_exact_time_has_the_interval_of_the_median():
    """Not that of a shift, which treated the exact time as a sample of five, and its range as 99 %."""
    rng = np.random.default_rng(2)
    studies = np.exp(0.05 * rng.standard_normal((500, 5, 1)))
    covered = [one.low <= 1 / 3 <= one.high for one in (exact_quotient(study, 3.0) for study in studies)]
    assert np.mean(covered) >= 0.97
    assert exact_quotient(studies[0], 3.0).value == median_time(studies[0]) / 3.0


def test_what_could_have_been_seen_is_beyond_the_margin_and_grows_with_the_noise():
    narrow, wide = (Ratio(1.0, 1 / width, width) for width in (1.001, 1.2))
    assert 0.1 < narrow.detectable() < 0.102
    assert 0.3 < wide.detectable() < 0.5
    assert wide.detectable(margin=0.0) < wide.detectable()


def around(value):
    return Ratio(value, value / 1.1, value * 1.1)


def test_costs_cross_between_the_sizes_with_an_interval():
    """The ratio is 1000 / n."""
    points = [(size, around(1000 / size)) for size in (250, 500, 2000, 4000)]
    assert crossing(points) == pytest.approx((1000.0, 1000 / 1.1, 1100.0))


def test_an_end_that_does_not_cross_is_open():
    points = [(950, around(1000 / 950)), (1050, around(1000 / 1050))]
    value, low, high = crossing(points)
    assert value == pytest.approx(1000.0)
    assert (low, high) == (0.0, math.inf)


@pytest.mark.parametrize("ratios", [(3.0, 2.0, 1.5), (0.9, 0.5, 0.1), (0.5, 2.0, 3.0), (), (2.0,)])
def test_costs_that_do_not_cross_have_no_point_of_it(ratios):
    assert crossing([(2.0**index, around(ratio)) for index, ratio in enumerate(ratios)]) is None


def of(*ends):
    """Points at 1, 2, 4 ... of ratios between these ends."""
    return [(2.0**index, Ratio(math.sqrt(low * high), low, high)) for index, (low, high) in enumerate(ends)]


@pytest.mark.parametrize(
    ("points", "word"),
    [
        ((), None),
        (of((0.5, 0.6), (0.3, 0.4)), "everywhere"),
        (of((1.5, 1.6), (1.1, 1.2)), "nowhere"),
        # What was printed once as "from 1 on", of 153 against 153.1 ms.
        (of((0.99, 1.01), (0.98, 1.03), (0.97, 1.02)), "undecided"),
        (of((1.5, 1.6), (0.9, 1.08)), "undecided"),  # the values cross, but where it should pay the two are alike
        (of((0.9, 1.08), (0.5, 0.6)), "undecided"),  # below at every size, and at some not surely
    ],
)
def test_a_break_even_point_needs_intervals_on_either_side_of_one(points, word):
    assert break_even(points) == word


def test_a_break_even_point_has_an_interval():
    value, low, high = break_even(of((1.5, 1.6), (0.9, 1.05), (0.5, 0.6)))
    assert 1 < low < value < 2 < high < 4


def test_who_is_best_is_chosen_by_other_processes_than_those_that_test_it():
    """The second and the fourth process choose; by the others, case b would be the best."""
    cases = {"a": [[9.0], [1.0], [9.0], [1.0]], "b": [[2.0], [5.0], [2.0], [5.0]]}
    assert choose_best(cases) == ("a", [[9.0], [9.0]])


def test_a_ratio_times_a_number_is_so_many_times_as_large_at_both_ends_too():
    assert Ratio(2.0, 1.5, 3.0).times(4) == Ratio(8.0, 6.0, 12.0)
    assert Ratio(2.0, 1.0, 4.0).inverse() == Ratio(0.5, 0.25, 1.0)
    assert Ratio(2.0, 0.0, 4.0).inverse().high == math.inf


@pytest.mark.parametrize("least", [0, 0.0])
@pytest.mark.parametrize("most", [0.5, 1])
def test_a_claim_of_at_most_less_than_one_says_something(least, most):
    assert decide(Ratio(0.45, 0.44, 0.46), least, most).verdict == "confirmed"
