"""Functions for this chapter's text only; `report/telling/functions.py` has those for every chapter."""

from ladder.report import ratios
from ladder.report.telling.lines import SECOND, select
from ladder.store.study import where
from ladder.workloads.gemv import cost
from ladder.workloads.gemv.paper import claims, lines

UNEXPLAINED = 10  # times as long: beyond what a tree of messages to a few times as many ranks explains
PRODUCT = cost({"seed": 1, "dtype": lines.DTYPE} | lines.LARGE)
INTENSITY = PRODUCT.flops / PRODUCT.bytes


def binding_alone(study):
    """The speed-up by binding on a machine with a single memory node."""
    return ratios.prose(study.ratio("openmp", "spread")) if claims.has_one_memory(study.machine("host")) else None


def over_computation(study):
    """The time of the communication of ranks on one host over that of their computation."""
    return ratios.prose(claims.ON_ONE_HOST(study))


def communication_compared(study):
    """The predicate of a sentence about the communication of fewer ranks with threads."""
    return ratios.comparison(claims.LESS_COMMUNICATION(study), "that of a rank per core")


def slower_broadcast(study):
    """The broadcast's time on the most ranks over that on fewer, if it exceeds any proportion."""
    sides = select("resident", "ranks"), select("resident", "ranks", ranks=SECOND)
    if study.rows(sides[1])["ranks"].iloc[0] == 1:  # which sends nothing
        return None
    pair = [where(study.phases(side), phase="broadcast") for side in sides]
    ratio = ratios.of(*pair)
    return ratios.short(ratio.value) if ratio and ratio.value > UNEXPLAINED else None
