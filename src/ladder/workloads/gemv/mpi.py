"""GEMV on ranks of MPI, a core each: the rows of the matrix are scattered, x is broadcast, y is gathered.

Each rank computes as `openmp` does on one thread. When the matrix travels (`mode` = ship), bound by the memory that it
is copied through, more than once for every byte that the product reads; when it stays (resident), by the bandwidth at
which all ranks together read it, plus the latency of a broadcast and a gathering.
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
