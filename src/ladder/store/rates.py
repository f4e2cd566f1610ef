"""The rates of a machine that the chapters' models divide by, from its ceilings and copies.

A rate is the best of all samples, as in `roofs`; None, or no entry, where nothing was measured. Here a `machine` is a
Study whose subject is that machine.
"""

from collections.abc import Mapping
from typing import Any

from ladder.store import peaks, roofs
from ladder.store.study import Study, best_rate

STREAMS = "ceiling_bandwidth"
LINK = "ceiling_gpu_bandwidth"  # its phase `to device` copies the input to the GPU


def bandwidths(machine: Study, device: str = "host") -> dict[int, float]:
    """{threads: B/s} of a device's memory, from its best stream or matrix-vector product; {} without any."""
    return peaks.by_threads(machine.ceilings, roofs.STREAMS, device)


def gpu_bandwidth(machine: Study) -> float | None:
    """B/s of the GPU's memory."""
    return roofs.gpu_bandwidth(machine)


def link(machine: Study) -> float | None:
    """B/s of copies to a GPU: the kernel `read` has one array, which is copied once."""
    return best_rate(machine.samples(LINK, phase="to device", kernel="read"), "bytes")


def products(machine: Study, precision: str, threads: int | None = None, device: str = "host") -> float | None:
    """FLOP/s of a device's best product in a precision, on `threads` or on any number."""
    return peaks.best(machine.ceilings, roofs.PRODUCTS, device, threads, precision=precision)


def products_of(machine: Study, row: Mapping[str, Any]) -> float | None:
    """FLOP/s of the best product under a row's conditions: its threads and dtype, or on a GPU its precision."""
    if row["device"] == "host":
        return products(machine, row["dtype"], int(row["threads_found"]))
    return products(machine, row["precision"], None, "cuda")


def memory_of(machine: Study, row: Mapping[str, Any], threads: int) -> float | None:
    """B/s of the memory that a row's case uses: of its host on `threads`, or of its GPU."""
    return bandwidths(machine).get(threads) if row["device"] in ("host", "mpi") else gpu_bandwidth(machine)


def products_by_threads(machine: Study, precision: str) -> dict[int, float]:
    """{threads: FLOP/s} of the host's best product in a precision; {} without any."""
    return peaks.by_threads(machine.ceilings, roofs.PRODUCTS, precision=precision)


def multiply_adds(machine: Study, precision: str, device: str) -> float | None:
    """FLOP/s of a device's fused multiply-adds in registers."""
    return peaks.best(machine.ceilings, roofs.MULTIPLY_ADDS, device, precision=precision)
