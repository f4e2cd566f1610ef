"""Functions for this chapter's text only; `report/telling/functions.py` has those for every chapter."""

from ladder.report import ratios
from ladder.report.telling.lines import MAX, SECOND_LARGEST, select
from ladder.workloads.gemv import cost
from ladder.workloads.gemv.paper import claims, lines

UNEXPLAINED_RATIO = 10  # times as long: beyond what a tree of messages to a few times as many ranks explains
LARGE_COST = cost({"seed": 1, "dtype": lines.DTYPE} | lines.LARGE)
INTENSITY = LARGE_COST.flops / LARGE_COST.bytes  # FLOP per byte


def binding_speedup(study):
    """The time of `openmp` over that of `openmp_bound`, on a machine with a single NUMA node."""
    return ratios.prose(study.ratio("openmp", "spread")) if claims.has_one_numa_node(study.machine("host")) else None


def broadcast_slowdown(study):
    """The broadcast's time on the most ranks over that on fewer, if it exceeds any proportion."""
    all_ranks, fewer = (select("resident", "ranks", ranks=count).phase("broadcast") for count in (MAX, SECOND_LARGEST))
    ratio = study.ratio(all_ranks, fewer).value
    return ratios.short(ratio) if ratio > UNEXPLAINED_RATIO and study.rows(fewer)["ranks"].iloc[0] > 1 else None
