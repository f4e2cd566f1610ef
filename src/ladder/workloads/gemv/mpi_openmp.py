"""GEMV on MPI ranks with OpenMP threads in each: fewer, larger messages than with a rank per core.

The bottlenecks are those of `mpi`.
"""

from functools import partial
from typing import Literal

from ladder.harness.contract import Problem, Run
from ladder.workloads.gemv import ranks as rank_products
from ladder.workloads.gemv.openmp import multiply

DEVICE = "mpi"
RUNTIME = "numba"
REQUIRES = ("mpi4py",)


def setup(problem: Problem, *, ranks: int, threads: int, mode: Literal["ship", "resident"]) -> Run:
    """The product's steps on the ranks that the launcher has started, `threads` threads each.

    With `mode` = ship every timed call scatters the matrix; with resident it is scattered beforehand.
    """
    return rank_products.steps(problem, partial(multiply, threads=threads), mode)
