"""The rates of a machine that the chapters' models divide by, from its ceilings and copies.

A rate is the best of all samples, as in `roofs`; None, or no entry, where nothing was measured. Here a `machine` is a
Study whose subject is that machine.
"""

from ladder.store import peaks, roofs
from ladder.store.study import best_rate

STREAMS = "ceiling_bandwidth"
LINK = "ceiling_gpu_bandwidth"  # its phase `to device` copies the input to the GPU


def bandwidths(machine, device="host"):
    """{threads: B/s} of a device's memory, from its best stream or matrix-vector product; {} without any."""
    return peaks.by_threads(machine.ceilings, roofs.STREAMS, device)


def gpu_bandwidth(machine):
    """B/s of the GPU's memory."""
    return roofs.gpu_bandwidth(machine)


def link(machine):
    """B/s of copies to a GPU: the kernel `read` has one array, which is copied once."""
    return best_rate(machine.samples(LINK, phase="to device", kernel="read"), "bytes")


def products(machine, precision, threads=None, device="host"):
    """FLOP/s of a device's best product in a precision, on `threads` or on any number."""
    return peaks.best(machine.ceilings, roofs.PRODUCTS, device, threads, precision=precision)


def products_of(machine, row):
    """FLOP/s of the best product under a row's conditions: its threads and dtype, or on a GPU its precision."""
    if row["device"] == "host":
        return products(machine, row["dtype"], int(row["threads_found"]))
    return products(machine, row["precision"], None, "cuda")


def memory_of(machine, row, threads):
    """B/s of the memory that a row's case uses: of its host on `threads`, or of its GPU."""
    return bandwidths(machine).get(threads) if row["device"] in ("host", "mpi") else gpu_bandwidth(machine)


def products_by_threads(machine, precision):
    """{threads: FLOP/s} of the host's best product in a precision; {} without any."""
    return peaks.by_threads(machine.ceilings, roofs.PRODUCTS, precision=precision)


def seconds(machine, row, amounts, threads=None):
    """Seconds of amounts, {resource: amount}, at a machine's rates under a row's conditions; None without a rate.

    The resources are FLOPs of `products` and of `multiply_adds`, bytes of `memory`, of a host on `threads`, and
    `seconds` of other kinds.
    """
    rate_of = {
        "products": lambda: products_of(machine, row),
        "multiply_adds": lambda: multiply_adds(machine, row["dtype"], row["device"]),
        "memory": lambda: memory_of(machine, row, threads),
        "seconds": lambda: 1.0,
    }
    rates = {resource: rate_of[resource]() for resource in amounts or ()}
    return sum(amounts[name] / rate for name, rate in rates.items()) if rates and all(rates.values()) else None


def multiply_adds(machine, precision, device):
    """FLOP/s of a device's fused multiply-adds in registers."""
    return peaks.best(machine.ceilings, roofs.MULTIPLY_ADDS, device, precision=precision)
