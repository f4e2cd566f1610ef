"""What a machine has reached, for the older form of the chapter `mlp` alone: to be deleted with that form."""

from dataclasses import dataclass

from ladder.report import roofs
from ladder.report.study import best_rate
from ladder.workloads.fma.paper.ceilings import multiply_adds
from ladder.workloads.gemm.paper.ceilings import products
from ladder.workloads.stream.paper.ceilings import bandwidths


@dataclass(frozen=True)
class Rates:
    """What a machine reaches: FLOP/s of products, B/s of reading, FLOP/s of multiply-adds in registers; or None."""

    products: float | None = None
    reading: float | None = None
    multiply_adds: float | None = None
    second_cache: float = 100e9


def threads_of(row):
    """The threads of a case, of which one without any counts as one."""
    return int(row["threads_found"]) if row["device"] == "host" else 1


def of_study(found, row):
    """The rates for a case's row, from the tables of its machine."""
    dtype = row["dtype"]
    if row["device"] == "host":
        threads = threads_of(row)
        return Rates(roofs.arithmetic(found, dtype, threads), roofs.bandwidth(found, threads))
    return Rates(
        roofs.card_arithmetic(found, row["precision"]),
        roofs.card_bandwidth(found),
        best_rate(found.samples("ceiling_gpu_fma", dtype=dtype), "flops"),
    )


def of_ceilings(ceilings, row):
    """The rates for a case's row, from its machine's ceilings."""
    device, threads = row["device"], threads_of(row)
    reading = bandwidths(ceilings, device)
    if device == "host":
        return Rates(products(ceilings, row["dtype"], threads), reading.get(threads))
    best = products(ceilings, row["precision"], None, device)
    return Rates(best, max(reading.values(), default=None), multiply_adds(ceilings, row["dtype"], device))
