"""Ratios over campaigns: the campaign, not the process, is the unit of replication of a conclusion.

A campaign is one stretch of measuring: one start, one commit, one host, one set of GPUs. GPUs of one model differ by
8 % in the mean (P. Sinha et al., SC 2022), so processes on one GPU say nothing about another. Both sides of a
ratio are measured in the same campaign, process by process in turns; the ratio is taken there, and effects of host,
GPU and drift that both sides share cancel.

The ratio of a campaign has an interval of its processes: the rank interval of the median of the pairs' ratios, or
Student's t with fewer than 8 pairs. The ratio over campaigns is the geometric mean of theirs, and its interval is
Student's t of their logarithms, from MIN_CAMPAIGNS campaigns on; from 8 on it is their median with its rank interval.
If MIN_CAMPAIGNS campaigns have at least MIN_PROCESSES of both sides, those with fewer don't count.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ladder.errors import LadderError
from ladder.statistics.intervals import location, median_of, require_processes
from ladder.statistics.quotients import LEVEL, Ratio, ratio_with_interval
from ladder.statistics.verdicts import shift_between

MIN_CAMPAIGNS = 3  # the minimum number of campaigns whose spread gives an interval
MIN_PROCESSES = 10  # of each side in a campaign that counts, if MIN_CAMPAIGNS campaigns have so many


@dataclass(frozen=True)
class Spread:
    """What a ratio rests on: the number of campaigns, and standard deviations of its logarithm, so that 0.01 is 1 %.

    `sd_within` is that between the pairs of processes of a campaign; it is nan if a campaign has a single process on a
    side. `sd_between` is that between campaigns beyond what `sd_within` explains: 0 if `sd_within` explains all, nan
    with a single campaign or if `sd_within` is nan. `processes` is the smallest number of processes of a side in any
    campaign.
    """

    campaigns: int
    sd_within: float
    sd_between: float
    processes: int


class CampaignRatio(NamedTuple):
    """A ratio in one campaign, the variances of its logarithm and of a pair's, and the smaller number of processes."""

    ratio: Ratio
    variance: float
    pair_variance: float
    processes: int


def campaign_ratio(a: Sequence[Sequence[float]], b: Sequence[Sequence[float]]) -> CampaignRatio:
    """The time of a over that of b in a campaign, from the seconds of each process's samples.

    Process i of a and process i of b are a pair. Sides with different numbers of processes have no pairs; then the
    interval is that of `verdicts.shift_between`. Variances are nan with a single process.
    """
    medians = [[median_of(times) for times in require_processes(side, "the case")] for side in (a, b)]
    logarithms = [np.log(side) for side in medians]
    value = float(np.median(medians[0])) / float(np.median(medians[1]))
    if len(a) == len(b):
        differences = logarithms[0] - logarithms[1]
        pair_variance = float(differences.var(ddof=1)) if len(a) > 1 else math.nan
        variance, interval = pair_variance / len(a), location(differences, LEVEL)
    else:
        variances = [side.var(ddof=1) if side.size > 1 else math.nan for side in logarithms]
        pair_variance = float(sum(variances))
        variance = float(
            sum(variance_of_side / side.size for variance_of_side, side in zip(variances, logarithms, strict=True))
        )
        interval = shift_between(logarithms[0], logarithms[1], LEVEL)
    return CampaignRatio(ratio_with_interval(value, interval, ()), variance, pair_variance, min(len(a), len(b)))


def campaigns_that_count(counts: Mapping[str, int]) -> list[str]:
    """The names of the campaigns on which a ratio rests; `counts` are the processes of the side with fewer of them."""
    full_campaigns = [name for name, count in counts.items() if count >= MIN_PROCESSES]
    return full_campaigns if len(full_campaigns) >= MIN_CAMPAIGNS else [*counts]


def ratio_over_campaigns(campaigns: Sequence[CampaignRatio], cases: tuple = ()) -> Ratio:
    """The ratio over campaigns, with its Spread.

    With fewer than MIN_CAMPAIGNS campaigns the interval is that of their processes: it holds for these campaigns only.
    """
    if not campaigns:
        raise LadderError("A ratio needs a campaign in which both of its sides were measured.")
    ratios, variances, pair_variances, processes = zip(*campaigns, strict=True)
    logarithms = np.log([ratio.value for ratio in ratios])
    count = len(ratios)
    if count < MIN_CAMPAIGNS:
        value = math.exp(logarithms.mean())
        low, high = min(ratio.low for ratio in ratios), max(ratio.high for ratio in ratios)
    else:
        log_value, log_low, log_high = location(logarithms, LEVEL)
        value = math.exp(log_value)
        low, high = np.exp([log_low, log_high])
    sd_between = math.nan
    if count > 1:
        # Unlike `max`, np.maximum keeps the nan of a campaign with a single process.
        sd_between = math.sqrt(np.maximum(0.0, logarithms.var(ddof=1) - np.mean(variances)))
    spread = Spread(count, math.sqrt(float(np.mean(pair_variances))), sd_between, min(processes))
    return Ratio(value, float(low), float(high), cases, spread)
