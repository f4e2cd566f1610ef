"""GEMV as in `openmp`, on threads bound to cores, each with its rows in the nearest memory.

OpenMP binds every thread to a core: with `binding` = spread to distant cores, so that few threads use all sockets'
memory, with close to neighbouring cores, which share caches. Each thread first touches the pages of matrix and result
that it will use, since Linux places a page near the core that touches it first. The variant is memory-bound; on a
single NUMA node it differs from `openmp` only in that threads don't migrate.
"""

from typing import Literal

import numba

from ladder.harness.contract import Problem, Run
from ladder.workloads.gemv.openmp import OPTIONS, multiply, row_range

DEVICE = "host"
RUNTIME = "numba"
ENVIRONMENT = {"OMP_PROC_BIND": "{binding}", "OMP_PLACES": "cores"}


@numba.njit(parallel=True, **OPTIONS)
def touch(matrix, y, threads):
    """Write zeros, each thread to the rows that it has in `multiply`."""
    for thread in numba.prange(threads):
        first, end = row_range(len(y), thread, threads)
        matrix[first:end] = 0
        y[first:end] = 0


def first_touch(problem: Problem) -> None:
    """Touch the pages of the new arrays, each on the thread that will use it."""
    touch(problem.matrix, problem.y, numba.get_num_threads())


def setup(problem: Problem, *, threads: int, binding: Literal["spread", "close"]) -> Run:
    """The timed product, on the threads that the harness has set and bound."""
    return lambda: multiply(problem.matrix, problem.x, problem.y, threads)
