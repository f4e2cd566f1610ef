"""Each of the seven verdicts on claims, for ratios on either side of 1; break-even points of two costs."""

import itertools
import math

import numpy as np
import pytest

import verdict_page
from ladder.errors import LadderError
from ladder.statistics import verdicts
from ladder.statistics.claims import RULES, decide, has_number
from ladder.statistics.crossings import break_even, crossing
from ladder.statistics.quotients import Ratio, exact_quotient, median_time, quotient
from ladder.statistics.selection import choose_best

# Claims as arguments of `decide`: the lower bound of a ratio, and the upper one unless it is infinite.
AT_LEAST_3, ABOUT_3, FASTER, EQUAL, AT_MOST_2 = (3.0,), (3.0, 3.0), (1.0,), (1.0, 1.0), (0.0, 2.0)


@pytest.mark.parametrize(
    ("low", "high", "claimed", "verdict"),
    [
        (2.9, 3.3, AT_LEAST_3, "as claimed"),
        (30.0, 33.0, AT_LEAST_3, "as claimed"),
        (2.8, 2.9, AT_LEAST_3, "less than claimed"),  # within the margin, but wholly short of the bound
        (1.2, 2.6, AT_LEAST_3, "less than claimed"),
        (0.6, 1.8, AT_LEAST_3, "less than claimed"),  # excludes the claim, though it shows no direction
        (2.6, 3.1, AT_LEAST_3, "undecided"),
        (1.42, 8.64, AT_LEAST_3, "undecided"),
        (0.95, 1.08, AT_LEAST_3, "no effect"),
        (0.3, 0.9, AT_LEAST_3, "the opposite"),
        (2.8, 2.9, ABOUT_3, "as claimed"),
        (3.1, 3.2, ABOUT_3, "as claimed"),
        (4.5, 5.0, ABOUT_3, "more than claimed"),
        (3.2, 5.0, ABOUT_3, "undecided"),
        (2.0, 2.7, ABOUT_3, "less than claimed"),
        (4.5, 5.0, (3.0, 4.0), "more than claimed"),
        (3.0, 4.2, (3.0, 4.0), "as claimed"),
        (4.5, 5.0, (1.0, 2.0), "more than claimed"),
        (1.4, 1.9, (1.0, 2.0), "as claimed"),
        # A small effect has a direction too if its interval is beyond the threshold.
        (1.035, 1.053, FASTER, "as claimed"),
        (1.03, 1.2, FASTER, "as claimed"),
        (1.005, 1.2, FASTER, "undecided"),
        (1.001, 1.003, FASTER, "no effect"),
        (0.5, 0.98, FASTER, "the opposite"),
        (0.95, 1.05, EQUAL, "as claimed"),
        (1.05, 1.15, EQUAL, "undecided"),
        (1.15, 1.3, EQUAL, "the opposite"),
        (0.5, 0.8, EQUAL, "the opposite"),
        (1.02, 1.04, AT_MOST_2, "as claimed"),
        (0.9, 0.95, AT_MOST_2, "as claimed"),
        (1.9, 2.15, AT_MOST_2, "as claimed"),
        (1.9, 2.3, AT_MOST_2, "undecided"),
        (2.05, 2.15, AT_MOST_2, "less than claimed"),  # within the margin, but wholly on the wrong side of the bound
        # The interval of too few processes.
        (0.0, math.inf, AT_MOST_2, "undecided"),
        (0.0, math.inf, AT_LEAST_3, "undecided"),
        (0.0, math.inf, EQUAL, "undecided"),
        (0.0, math.inf, FASTER, "undecided"),
    ],
)
def test_the_whole_interval_decides_a_claim(low, high, claimed, verdict):
    ratio = Ratio(math.sqrt(low * high) if low else 2.0, low, high)
    assert decide(ratio, *claimed).verdict == verdict
    if claimed[0] > 1 and len(claimed) > 1:
        lower, upper = claimed
        assert decide(ratio.inverse(), 1 / upper, 1 / lower).verdict == verdict


def test_the_page_on_verdicts_has_the_rules_that_decide():
    """Its first rule that holds gives the verdict of the code, for all intervals of a grid."""
    rules = [(word, text) for word, (text, _) in verdict_page.RULES.items()]
    assert rules == list(RULES.items())
    assert list(verdict_page.rows().items())[: len(rules)] == rules
    ends = [0.4, 0.6, 0.95, 0.98, 0.995, 1.005, 1.05, 1.15, 1.9, 2.05, 2.15, 2.8, 2.9, 3.1, 3.4, 4.5, 9.0]
    claimed = [AT_LEAST_3, ABOUT_3, FASTER, EQUAL, AT_MOST_2, (2.0, 3.0), (0.3, 0.5), (0.3, 0.3)]
    for (low, high), (lower, *upper) in itertools.product(itertools.combinations(ends, 2), claimed):
        answer = decide(Ratio(math.sqrt(low * high), low, high), lower, *upper)
        page_verdict = verdict_page.verdict(low, high, lower, *(upper or (math.inf,)))
        assert page_verdict == answer.verdict, (low, high, lower, upper)


@pytest.mark.parametrize("claimed", [AT_LEAST_3, ABOUT_3, AT_MOST_2])
def test_claims_with_a_number_are_told_from_those_of_a_direction(claimed):
    assert has_number(*(claimed if claimed[1:] else (*claimed, math.inf)))
    assert not has_number(1.0, math.inf)
    assert not has_number(1.0, 1.0)


def test_a_ratio_that_was_not_measured_is_not_tested():
    assert decide(None, 2.0).verdict == "not tested"


@pytest.mark.parametrize("claimed", [(0.0, 0.0), (0.0, math.inf), (2.0, 1.0), (-1.0, 2.0), (0.5, 2.0)])
def test_a_claim_that_says_nothing_is_refused(claimed):
    with pytest.raises(LadderError, match="says nothing"):
        decide(Ratio(1.0, 0.9, 1.1), *claimed)


def test_a_quotient_is_that_of_the_medians_in_the_tables():
    """Processes count once each, however many samples they have."""
    a, b = [[4.0] * 9, [6.0], [8.0, 8.0]], [[2.0], [2.0, 9.0, 1.0], [3.0]]
    assert (median_time(a), median_time(b)) == (6.0, 2.0)
    assert quotient(a, b).value == 3.0


def test_the_interval_of_a_quotient_is_by_ranks_and_contains_the_quotient():
    rng = np.random.default_rng(1)
    a, b = (np.exp(rng.normal(centre, 0.1, (10, 3))) for centre in (0.5, 0.0))
    ratio, verdict = quotient(a, b), verdicts.compare(a, b, level=0.99)
    assert ratio.low <= ratio.value <= ratio.high
    assert (ratio.low, ratio.high) == (pytest.approx(verdict.low), pytest.approx(verdict.high))


def test_one_process_of_each_leaves_everything_undecided():
    ratio = quotient([[1.0, 1.1]], [[2.0, 2.1]])
    assert (ratio.low, ratio.high) == (0.0, math.inf)
    assert ratio.detectable() == math.inf


def test_a_ratio_keeps_its_cases_and_equality_ignores_them():
    cases = (("here", "gemm", "blas", "n=1,cache=cold"),)
    ratio = quotient([[2.0]] * 5, [[1.0]] * 5, cases)
    assert ratio.inverse().cases == ratio.times(3.0).cases == decide(ratio, 2, 3).ratio.cases == cases
    assert ratio == quotient([[2.0]] * 5, [[1.0]] * 5)
    assert "gemm" not in repr(ratio)


def test_a_quotient_by_an_exact_time_has_the_interval_of_the_median():
    """An interval of a shift, which would treat the exact time as five equal samples, would be too narrow."""
    rng = np.random.default_rng(2)
    studies = np.exp(0.05 * rng.standard_normal((500, 5, 1)))
    is_covered = [ratio.low <= 1 / 3 <= ratio.high for ratio in (exact_quotient(study, 3.0) for study in studies)]
    assert np.mean(is_covered) >= 0.97  # the level is 99 %; of 500 studies, a few more may miss
    assert exact_quotient(studies[0], 3.0).value == median_time(studies[0]) / 3.0


def test_the_detectable_change_exceeds_the_threshold_and_grows_with_the_noise():
    narrow, wide = (Ratio(1.0, 1 / width, width) for width in (1.001, 1.2))
    assert 0.01 < narrow.detectable() < 0.012
    assert 0.2 < wide.detectable() < 0.5
    assert wide.detectable(threshold=0.0) < wide.detectable()


def interval_around(value):
    """A ratio whose ends are a factor of 1.1 below and above its value."""
    return Ratio(value, value / 1.1, value * 1.1)


def test_costs_cross_between_the_sizes_with_an_interval():
    """The ratio of the costs at size n is 1000 / n, so they are equal at n = 1000."""
    points = [(size, interval_around(1000 / size)) for size in (250, 500, 2000, 4000)]
    assert crossing(points) == pytest.approx((1000.0, 1000 / 1.1, 1100.0))


def test_an_end_that_does_not_cross_is_open():
    points = [(950, interval_around(1000 / 950)), (1050, interval_around(1000 / 1050))]
    value, low, high = crossing(points)
    assert value == pytest.approx(1000.0)
    assert (low, high) == (0.0, math.inf)


@pytest.mark.parametrize("ratios", [(3.0, 2.0, 1.5), (0.9, 0.5, 0.1), (0.5, 2.0, 3.0), (), (2.0,)])
def test_costs_that_do_not_cross_have_no_crossing(ratios):
    assert crossing([(2.0**index, interval_around(ratio)) for index, ratio in enumerate(ratios)]) is None


def points_of(*ends):
    """Points (size, ratio) at the sizes 1, 2, 4 ..., whose intervals have these ends."""
    return [(2.0**index, Ratio(math.sqrt(low * high), low, high)) for index, (low, high) in enumerate(ends)]


@pytest.mark.parametrize(
    ("points", "answer"),
    [
        ((), None),
        (points_of((0.5, 0.6), (0.3, 0.4)), "everywhere"),
        (points_of((1.5, 1.6), (1.1, 1.2)), "nowhere"),
        # Costs that do not differ significantly at any size.
        (points_of((0.99, 1.01), (0.98, 1.03), (0.97, 1.02)), "undecided"),
        # The values cross, but no interval lies below 1.
        (points_of((1.5, 1.6), (0.9, 1.08)), "undecided"),
        # The cost is lower at the first size and higher at the second.
        (points_of((0.5, 0.6), (1.5, 1.6)), "undecided"),
    ],
)
def test_a_break_even_point_needs_intervals_on_either_side_of_one(points, answer):
    assert break_even(points) == answer


def test_a_break_even_point_has_an_interval():
    value, low, high = break_even(points_of((1.5, 1.6), (0.9, 1.05), (0.5, 0.6)))
    assert 1 < low < value < 2 < high < 4


def test_a_break_even_point_before_the_first_size_is_open_below():
    value, low, high = break_even(points_of((0.9, 1.08), (0.5, 0.6)))
    assert (value, low) == (1, 0)
    assert 1 < high < 2


def test_the_best_case_is_chosen_by_other_processes_than_those_that_test_it():
    """The second and the fourth process choose; the others would choose case b."""
    cases = {"a": [[9.0], [1.0], [9.0], [1.0]], "b": [[2.0], [5.0], [2.0], [5.0]]}
    assert choose_best(cases) == ("a", [[9.0], [9.0]])


def test_a_ratio_times_a_number_has_its_interval_scaled():
    assert Ratio(2.0, 1.5, 3.0).times(4) == Ratio(8.0, 6.0, 12.0)
    assert Ratio(2.0, 1.0, 4.0).inverse() == Ratio(0.5, 0.25, 1.0)
    assert Ratio(2.0, 0.0, 4.0).inverse().high == math.inf


@pytest.mark.parametrize("lower", [0, 0.0])
@pytest.mark.parametrize("upper", [0.5, 1])
def test_an_upper_bound_below_one_is_a_valid_claim(lower, upper):
    assert decide(Ratio(0.45, 0.44, 0.46), lower, upper).verdict == "as claimed"
