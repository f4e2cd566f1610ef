"""The rates of a machine that the chapters' models divide by, from its ceilings and copies.

Rates are those of `roofs`, but that of `link` is the best of all samples; None, or no entry, if nothing was measured.
Here a `machine` is a Study about that machine.
"""

from collections.abc import Callable, Mapping
from typing import Any

from ladder.store import ceiling_rates, roofs
from ladder.store.study import Study, best_rate

# Experiments of the configuration. The phase `to device` of the second copies the input to the GPU.
BANDWIDTH_EXPERIMENT, LINK_EXPERIMENT = "ceiling_bandwidth", "ceiling_gpu_bandwidth"


def bandwidths(machine: Study, device: str = "host") -> dict[int, float]:
    """{threads: B/s} of a device's memory, from its best stream or matrix-vector product; {} without any."""
    return ceiling_rates.by_threads(machine.ceilings, roofs.STREAMS, device)


def gpu_bandwidth(machine: Study) -> float | None:
    """B/s of the GPU's memory."""
    return roofs.gpu_bandwidth(machine)


def link(machine: Study) -> float | None:
    """B/s of copies to a GPU: the kernel `read` has one array, which is copied once."""
    return best_rate(machine.samples(LINK_EXPERIMENT, phase="to device", kernel="read"), "bytes")


def products(machine: Study, precision: str, threads: int | None = None, device: str = "host") -> float | None:
    """FLOP/s of a device's best product in a precision, on `threads` or on any number."""
    return ceiling_rates.best(machine.ceilings, roofs.PRODUCTS, device, threads, precision=precision)


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
    return ceiling_rates.by_threads(machine.ceilings, roofs.PRODUCTS, precision=precision)


def multiply_adds(machine: Study, precision: str, device: str) -> float | None:
    """FLOP/s of a device's fused multiply-adds in registers."""
    return ceiling_rates.best(machine.ceilings, roofs.MULTIPLY_ADDS, device, precision=precision)


def seconds(machine: Study, row: Any, amounts: Mapping[str, float] | None, threads: int | None = None) -> float | None:
    """Seconds of amounts, {resource: amount}, at a machine's rates under a row's conditions; None without a rate.

    Resources: `products` and `multiply_adds` in FLOPs, `memory` in bytes (on a host, at the rate of `threads`), and
    `seconds` for anything else.
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
