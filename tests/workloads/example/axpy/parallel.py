"""AXPY in Numba, elements shared among OpenMP threads; bound by memory bandwidth."""

import numba
from ladder.workloads.axpy import FACTOR

DEVICE = "host"
RUNTIME = "numba"


@numba.njit(parallel=True, cache=True)
def axpy(factor, x, y, out):
    for i in numba.prange(len(out)):
        out[i] = factor * x[i] + y[i]


def setup(problem, *, threads: int):
    """One pass over the arrays."""
    factor = problem.x.dtype.type(FACTOR)
    return lambda: axpy(factor, problem.x, problem.y, problem.out)
