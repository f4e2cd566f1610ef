"""GEMV on MPI ranks, one per core: the rows of the matrix are scattered, x is broadcast, y is gathered.

Each rank computes like `openmp` on one thread. If the matrix is sent (`mode` = ship), bound by the memory through which
it is copied, more than once for every byte that the product reads; if it stays (resident), by the total bandwidth of
all ranks, plus the latency of a broadcast and a gather.
"""

from functools import partial
from typing import Literal

from ladder.workloads.gemv import ranks as by_rows
from ladder.workloads.gemv.openmp import multiply

DEVICE = "mpi"
RUNTIME = "numba"
REQUIRES = ("mpi4py",)


def setup(problem, *, ranks: int, mode: Literal["ship", "resident"]):
    """The product's steps on the ranks that the launcher has started."""
    return by_rows.steps(problem, partial(multiply, threads=1), mode)
