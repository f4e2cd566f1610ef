"""GEMV on MPI ranks, one per core: the rows of the matrix are scattered, x is broadcast, y is gathered.

Each rank computes like `openmp` on one thread. If every product sends the matrix (`mode` = ship), the product is bound
by the copies, which move each byte of it through memory more than once. If the matrix is resident, the product is bound
by the memory bandwidth of all ranks together, plus the latency of a broadcast and a gather.
"""

from functools import partial
from typing import Literal

from ladder.harness.contract import Problem, Run
from ladder.workloads.gemv import ranks as rank_products
from ladder.workloads.gemv.openmp import multiply

DEVICE = "mpi"
RUNTIME = "numba"
REQUIRES = ("mpi4py",)


def setup(problem: Problem, *, ranks: int, mode: Literal["ship", "resident"]) -> Run:
    """The product's steps on the ranks that the launcher has started."""
    return rank_products.steps(problem, partial(multiply, threads=1), mode)
