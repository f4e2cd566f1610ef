"""The times of the earlier study in seconds; `ladder.workloads.descent_kernel.earlier` has its tables."""

from ladder.workloads.descent_kernel.earlier import COLUMNS, VERSION1, VERSION2

KERNELS = tuple(VERSION2)
LARGEST = COLUMNS[-1]  # (block, n) at the largest n


def seconds(kernel, block, n):
    """The time of a kernel, of version 1 if `block` is None; None if the study has none."""
    if block is None:
        return VERSION1[kernel] / 1e3 if kernel in VERSION1 else None
    return VERSION2[kernel][COLUMNS.index((block, n))] / 1e3


def calls(products):
    """{kernel: its calls in an iteration} with so many products with A.

    Dot products are omitted: the study has no times of their reductions of a single row.
    """
    return {name: products if name in ("product", "reduction") else 1 for name in KERNELS if name != "init"}


def total_seconds(counts):
    """Seconds of kernels, {kernel: calls}, at the largest n."""
    return sum(count * seconds(name, *LARGEST) for name, count in counts.items())
