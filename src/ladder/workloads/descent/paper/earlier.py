"""The times of version 2 in the earlier study, in seconds; `ladder.workloads.descent_kernel` has its table."""

from ladder.workloads.descent_kernel.earlier import COLUMNS, VERSION2

KERNELS = tuple(VERSION2)
# (block, n) of each column, with the elements that a thread summed up.
LOADS = {(block, n): load for block, n, load in COLUMNS}
LARGEST = list(LOADS)[-1]


def seconds(kernel, block, n):
    """The time of a kernel in the earlier study."""
    return VERSION2[kernel][list(LOADS).index((block, n))] / 1e3


def iteration(products):
    """The sum of its kernels for an iteration at its largest N, with so many products of a matrix, and no init."""
    counts = {"product": products, "reduction": products}
    return sum(counts.get(name, 1) * seconds(name, *LARGEST) for name in KERNELS if name != "init")
