"""The product of `openmp` on threads that stay where they are, each on rows in the memory nearest to it.

OpenMP binds every thread to a core, `binding` = spread (cores far from each other, so that few threads use all sockets'
memory) or close (side by side, so that they share caches). Before anything is written to them, the pages of matrix and
result are touched by the thread that will work on them, since Linux places a page near the core that touches it first.
Bound by memory bandwidth; with one memory (NUMA node) it differs from `openmp` by threads that no longer migrate.
"""

from typing import Literal

import numba

from ladder.workloads.gemv.openmp import OPTIONS, multiply, part_of

DEVICE = "host"
RUNTIME = "numba"
ENVIRONMENT = {"OMP_PROC_BIND": "{binding}", "OMP_PLACES": "cores"}


@numba.njit(parallel=True, **OPTIONS)
def touch(matrix, y, threads):
    """Write zeros by the threads to which `multiply` gives the same rows."""
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
