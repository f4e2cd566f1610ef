"""The rates of a study's subject that models of chapters divide by, from its ceilings and copies.

A rate is the best of all samples, by `roofs`; None, or no entry, where nothing was measured.
"""

from ladder.store import peaks, roofs
from ladder.store.study import best_rate

STREAMS = "ceiling_bandwidth"
LINK = "ceiling_gpu_bandwidth"  # whose input is copied to the GPU before it is read


def bandwidths(machine, device="host"):
    """B/s of a device's memory by number of threads, its best stream or matrix-vector product; {} without any."""
    return peaks.by_threads(machine.ceilings, roofs.STREAMS, device)


def gpu_bandwidth(machine):
    """B/s of the GPU's memory."""
    return roofs.gpu_bandwidth(machine)


def link(machine):
    """B/s of copies to a GPU: an array that is read alone is copied once."""
    return best_rate(machine.samples(LINK, phase="to device", kernel="read"), "bytes")


def products(machine, precision, threads=None, device="host"):
    """FLOP/s of a device's best product in a precision, on a number of threads or on any."""
    return peaks.best(machine.ceilings, roofs.PRODUCTS, device, threads, precision=precision)


def products_of(machine, row):
    """FLOP/s of the best product on the threads of a case, or on its GPU in the precision of its arithmetic."""
    if row["device"] == "host":
        return products(machine, row["dtype"], int(row["threads_found"]))
    return products(machine, row["precision"], None, "cuda")


def memory_of(machine, row, threads):
    """B/s of the memory of a case: of its host on so many threads, or of its GPU."""
    return bandwidths(machine).get(threads) if row["device"] in ("host", "mpi") else gpu_bandwidth(machine)


def products_by_threads(machine, precision):
    """FLOP/s of the host's best product by number of threads; {} without any."""
    return peaks.by_threads(machine.ceilings, roofs.PRODUCTS, precision=precision)


def multiply_adds(machine, precision, device):
    """FLOP/s of a device's fused multiply-adds in registers."""
    return peaks.best(machine.ceilings, roofs.MULTIPLY_ADDS, device, precision=precision)
