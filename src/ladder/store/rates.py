"""The rates of a machine that the chapters' models divide by, from its ceilings and copies.

A rate is the best of all samples, as in `roofs`; None, or no entry, where nothing was measured. Here a `machine` is a
Study whose subject is that machine.
"""

from collections.abc import Callable, Mapping
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


def memory_of(machine: Study, row: Mapping[str, Any], threads: int | None) -> float | None:
    """B/s of the memory that a row's case uses: of its host on `threads`, or of its GPU; None if unknown."""
    return bandwidths(machine).get(threads or 0) if row["device"] in ("host", "mpi") else gpu_bandwidth(machine)


def products_by_threads(machine: Study, precision: str) -> dict[int, float]:
    """{threads: FLOP/s} of the host's best product in a precision; {} without any."""
    return peaks.by_threads(machine.ceilings, roofs.PRODUCTS, precision=precision)


def seconds(machine: Study, row: Any, amounts: Mapping[str, float] | None, threads: int | None = None) -> float | None:
    """Seconds of amounts, {resource: amount}, at a machine's rates under a row's conditions; None without a rate.

    The resources are FLOPs of `products` and of `multiply_adds`, bytes of `memory`, of a host on `threads`, and
    `seconds` of other kinds.
    """
    rate_of: dict[str, Callable[[], float | None]] = {
        "products": lambda: products_of(machine, row),
        "multiply_adds": lambda: multiply_adds(machine, row["dtype"], row["device"]),
        "memory": lambda: memory_of(machine, row, threads),
        "seconds": lambda: 1.0,
    }
    total = 0.0
    for resource, amount in (amounts or {}).items():
        rate = rate_of[resource]()
        if not rate:
            return None
        total += amount / rate
    return total if amounts else None


def multiply_adds(machine: Study, precision: str, device: str) -> float | None:
    """FLOP/s of a device's fused multiply-adds in registers."""
    return peaks.best(machine.ceilings, roofs.MULTIPLY_ADDS, device, precision=precision)
