"""The times of version 2 in the earlier study, in seconds; `ladder.workloads.descent_kernel` has its table."""

from ladder.workloads.descent_kernel.earlier import COLUMNS, VERSION2

KERNELS = tuple(VERSION2)
# The elements that a thread summed up, by (block, n), in the order of the table's columns.
LOADS = {(block, n): load for block, n, load in COLUMNS}
LARGEST = list(LOADS)[-1]


def seconds(kernel, block, n):
    """The time of a kernel in the earlier study."""
    return VERSION2[kernel][list(LOADS).index((block, n))] / 1e3


def iteration(products):
    """Seconds of an iteration at the largest N: the sum of all kernels but init, with `products` products with A."""
    counts = {"product": products, "reduction": products}
    return sum(counts.get(name, 1) * seconds(name, *LARGEST) for name in KERNELS if name != "init")
