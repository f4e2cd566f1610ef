"""The elementary kernels of version 2: what the earlier study reported of them, and our calls."""

from ladder.report import ratios
from ladder.report.study import values, where
from ladder.workloads.descent_kernel.earlier import COLUMNS, VERSION2

# (block, n) of each column, with the elements that a thread summed up.
LOADS = {(block, n): load for block, n, load in COLUMNS}
LARGEST = list(LOADS)[-1]


def then(kernel, block, n):
    """The seconds of a kernel in the earlier study."""
    return VERSION2[kernel][list(LOADS).index((block, n))] / 1e3


def iteration(products):
    """The sum of its kernels for an iteration at its largest N, with so many products of a matrix, and no init."""
    counts = {"product": products, "reduction": products}
    return sum(counts.get(name, 1) * then(name, *LARGEST) for name in VERSION2 if name != "init")


def now(study, kernel, block, n, launch="right"):
    """The calls of one case of a kernel.

    A thread has as many elements as in the earlier study or, where that wasn't measured, as few as were.
    """
    rows = where(study.frame("kernels"), kernel=kernel, block=block, n=n, launch=launch)
    if rows.empty:
        return rows
    wanted, loads = LOADS.get((block, n)), values(rows, "load")
    rows = where(rows, load=wanted if wanted in loads else loads[0])
    return where(rows, case=min(rows["case"]))  # a default may be stated or not


def over(study, kernel, column, other, launch="right"):
    """A kernel's time at one (block, N) over that at another; None where one of them wasn't measured."""
    return ratios.of(*(now(study, kernel, *one, launch) for one in (column, other)))


def over_then(kernel, column, other):
    """The same in the earlier study."""
    return then(kernel, *column) / then(kernel, *other)
