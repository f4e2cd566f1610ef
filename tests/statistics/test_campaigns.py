"""A thousand made-up studies of several campaigns with known answers: at most 1 % of the verdicts are wrong.

GPUs differ, campaigns on them differ, processes have two states and all times drift during a campaign.
"""

import math
from functools import cache

import numpy as np
import pytest

from ladder.errors import LadderError
from ladder.statistics.campaigns import MIN_PROCESSES, campaign_ratio, campaigns_that_count, ratio_over_campaigns
from ladder.statistics.claims import decide
from ladder.statistics.verdicts import outcome_of

STUDIES = 1000
MAX_ERROR_RATE = 0.01
# Standard deviations of logarithms. Both sides of a ratio share the effects of GPU and campaign; those of a case on a
# GPU and of a case in a campaign are independent for each side.
GPU_SD, CAMPAIGN_SD, CASE_ON_GPU_SD, CASE_IN_CAMPAIGN_SD = 0.08, 0.02, 0.02, 0.01
# The slowdown of a process in its slow state, in logarithms (20.4 µs instead of 18.8 µs, say), its probability, and the
# standard deviation of processes in the same state.
SLOW_STATE, SLOW_PROBABILITY, JITTER_SD = math.log(20.4 / 18.8), 0.3, 0.002
DRIFT_SD = 0.1  # standard deviation of the drift of all times over a campaign, in logarithms


@cache
def studies(campaigns, case_on_gpu_sd=CASE_ON_GPU_SD):
    """Seconds of two cases with equal times over all GPUs, of shape (STUDIES, campaigns, 2, MIN_PROCESSES, 1)."""
    rng = np.random.default_rng(campaigns)
    shape = STUDIES, campaigns
    shared_effects = GPU_SD * rng.standard_normal(shape) + CAMPAIGN_SD * rng.standard_normal(shape)
    case_effects = math.hypot(case_on_gpu_sd, CASE_IN_CAMPAIGN_SD) * rng.standard_normal((*shape, 2))
    process_shape = (*shape, 2, MIN_PROCESSES)
    process_effects = SLOW_STATE * (rng.random(process_shape) < SLOW_PROBABILITY)
    process_effects = process_effects + JITTER_SD * rng.standard_normal(process_shape)
    drifts = DRIFT_SD * rng.standard_normal(shape)[..., None] * np.linspace(0, 1, MIN_PROCESSES)
    logarithms = shared_effects[..., None, None] + case_effects[..., None] + drifts[..., None, :] + process_effects
    return np.exp(logarithms)[..., None]


@cache
def ratios(campaigns, case_on_gpu_sd=CASE_ON_GPU_SD):
    """The ratio of the two cases in every study; its true value is 1."""
    return [
        ratio_over_campaigns([campaign_ratio(a, b) for a, b in study]) for study in studies(campaigns, case_on_gpu_sd)
    ]


@pytest.mark.parametrize("campaigns", [3, 5, pytest.param(8, marks=pytest.mark.slow)])
# `claimed` has the arguments of `decide`: the claimed ratio or its lower bound, and its upper bound if there is one. A
# ratio of the opposite direction is also less than claimed.
@pytest.mark.parametrize(
    ("true_ratio", "claimed", "right_verdicts"),
    [
        (3.0, (2.0,), {"as claimed"}),
        (1.5, (2.0,), {"less than claimed"}),
        (0.7, (2.0,), {"the opposite", "less than claimed"}),
        (1.0, (1.0, 1.0), {"as claimed"}),
        (1.3, (1.0, 1.0), {"the opposite"}),
        (1.0, (1.0,), {"no effect"}),
        (2.5, (2.5, 2.5), {"as claimed"}),
        # Where two verdicts meet: just short of a number, of a direction (1.01), and just beyond equality (1.1).
        (1.999, (2.0,), {"less than claimed", "as claimed"}),
        (1.0099, (1.0,), {"no effect"}),
        (1.101, (1.0, 1.0), {"the opposite"}),
    ],
)
def test_verdicts_over_campaigns_are_right_or_undecided(campaigns, true_ratio, claimed, right_verdicts):
    verdicts = [decide(ratio.times(true_ratio), *claimed).verdict for ratio in ratios(campaigns)]
    assert np.mean([verdict not in right_verdicts | {"undecided"} for verdict in verdicts]) <= MAX_ERROR_RATE


@pytest.mark.parametrize("campaigns", [3, 5, pytest.param(8, marks=pytest.mark.slow)])
def test_a_program_compared_with_itself_is_neither_faster_nor_slower(campaigns):
    """Both sides are the same program, in campaigns on several GPUs."""
    outcomes = [outcome_of(ratio.low, ratio.high) for ratio in ratios(campaigns)]
    assert np.mean([outcome in ("faster", "slower") for outcome in outcomes]) <= MAX_ERROR_RATE


@pytest.mark.slow
def test_most_large_effects_are_decided():
    """Verdicts that are never wrong because all are undecided would be useless."""
    for campaigns, min_share in ((3, 0.5), (5, 0.95), (8, 0.95)):
        verdicts = [decide(ratio.times(3.0), 2.0).verdict for ratio in ratios(campaigns)]
        assert np.mean([verdict == "as claimed" for verdict in verdicts]) >= min_share


def test_one_gpu_says_nothing_about_others():
    """The interval of processes holds for its campaign only: it excludes the ratio over all GPUs far too often.

    It does so even if the case has no effect of its own on a GPU, since effects of the campaign remain.
    """
    assert np.mean([not ratio.low <= 1 <= ratio.high for ratio in ratios(1)]) > 5 * MAX_ERROR_RATE
    outcomes = [outcome_of(ratio.low, ratio.high) for ratio in ratios(1, case_on_gpu_sd=0.0)]
    assert np.mean([outcome in ("faster", "slower") for outcome in outcomes]) > MAX_ERROR_RATE


def test_the_same_program_on_two_gpus_shows_no_effect_of_the_gpus():
    """Both sides are measured on each GPU, so that the difference of 8 % between GPUs cancels."""
    assert np.mean([abs(math.log(ratio.value)) for ratio in ratios(2)]) < GPU_SD / 2


@pytest.mark.parametrize("campaigns", [5, 8])
def test_the_components_of_the_variance_are_estimated(campaigns):
    """A ratio has the variances of both of its sides, hence the factors of 2."""
    spreads = [ratio.spread for ratio in ratios(campaigns)]
    between = math.sqrt(np.mean([spread.sd_between**2 for spread in spreads]))
    assert between == pytest.approx(math.sqrt(2) * math.hypot(CASE_ON_GPU_SD, CASE_IN_CAMPAIGN_SD), rel=0.25)
    within = math.sqrt(2 * (JITTER_SD**2 + SLOW_STATE**2 * SLOW_PROBABILITY * (1 - SLOW_PROBABILITY)))
    assert math.sqrt(np.mean([spread.sd_within**2 for spread in spreads])) == pytest.approx(within, rel=0.1)
    assert {spread.campaigns for spread in spreads} == {campaigns}


def test_a_ratio_keeps_its_spread():
    ratio = ratios(3)[0]
    assert ratio.times(2).spread == ratio.inverse().spread == decide(ratio, 1).ratio.spread == ratio.spread


def test_the_drift_of_a_campaign_cancels_in_turns():
    """Both sides slow down by half during a campaign, and their ratio is exact in every pair."""
    slower = np.linspace(1.0, 1.5, MIN_PROCESSES)[:, None]
    ratio, variance, *_ = campaign_ratio(3 * slower, slower)
    assert (ratio.value, ratio.low, ratio.high) == (pytest.approx(3),) * 3
    assert variance == pytest.approx(0, abs=1e-20)


@pytest.mark.parametrize(("process_counts", "is_unknown"), [((1, 1), True), ((10, 4), False), ((1, 10), True)])
def test_a_side_of_a_single_process_makes_the_interval_of_a_ratio_infinite(process_counts, is_unknown):
    rng = np.random.default_rng(3)
    ratio, *_ = campaign_ratio(*(np.exp(0.01 * rng.standard_normal((number, 2))) for number in process_counts))
    assert ratio.low <= ratio.value <= ratio.high
    assert ((ratio.low, ratio.high) == (0.0, math.inf)) == is_unknown


def test_a_ratio_without_a_campaign_is_refused():
    with pytest.raises(LadderError, match="needs a campaign"):
        ratio_over_campaigns([])


@pytest.mark.parametrize(
    ("process_counts", "counting_campaigns"),
    [({"a": 10, "b": 10, "c": 12, "d": 9}, "abc"), ({"a": 10, "b": 10, "c": 9}, "abc"), ({"a": 3}, "a"), ({}, "")],
)
def test_a_campaign_of_fewer_than_10_processes_counts_unless_three_others_have_as_many(
    process_counts, counting_campaigns
):
    assert campaigns_that_count(process_counts) == list(counting_campaigns)


@pytest.mark.parametrize("process_counts", [(1, 1), (1, MIN_PROCESSES)])
def test_with_a_single_process_the_components_of_the_variance_are_unknown(process_counts):
    rng = np.random.default_rng(3)
    full, single = (
        campaign_ratio(*(np.exp(0.01 * rng.standard_normal((number, 2))) for number in counts))
        for counts in ((MIN_PROCESSES, MIN_PROCESSES), process_counts)
    )
    spread = ratio_over_campaigns([full, single]).spread
    assert math.isnan(spread.sd_within)
    assert math.isnan(spread.sd_between)


def test_a_spread_has_the_fewest_processes_of_a_side():
    sides = [(np.ones((MIN_PROCESSES, 1)), np.ones((n, 1))) for n in (MIN_PROCESSES, 4)]
    assert ratio_over_campaigns([campaign_ratio(*pair) for pair in sides]).spread.processes == 4
