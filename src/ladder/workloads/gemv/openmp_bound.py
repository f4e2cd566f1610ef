"""The product of `openmp` on pinned threads, each with its rows in the nearest memory.

OpenMP binds every thread to a core, `binding` = spread (distant cores, so that few threads use all sockets' memory) or
close (neighbouring cores, which share caches). The pages of matrix and result are first touched by the thread that will
use them, since Linux places a page near the core that touches it first. Memory-bound; with one NUMA node it differs
from `openmp` only in that threads don't migrate.
"""

from typing import Literal

import numba

from ladder.workloads.gemv.openmp import OPTIONS, multiply, part_of

DEVICE = "host"
RUNTIME = "numba"
ENVIRONMENT = {"OMP_PROC_BIND": "{binding}", "OMP_PLACES": "cores"}


@numba.njit(parallel=True, **OPTIONS)
def touch(matrix, y, threads):
    """Write zeros, each thread to the rows that it has in `multiply`."""
    for thread in numba.prange(threads):
        first, end = part_of(len(y), thread, threads)
        matrix[first:end] = 0
        y[first:end] = 0


def first_touch(problem):
    """Place the pages of the new arrays."""
    touch(problem.matrix, problem.y, numba.get_num_threads())


def setup(problem, *, threads: int, binding: Literal["spread", "close"]):
    """The timed product, on the threads that the harness has set and bound."""
    return lambda: multiply(problem.matrix, problem.x, problem.y, threads)
