"""SpMV in Numba: one loop over the rows, shared among OpenMP threads."""

import numba

DEVICE = "host"
RUNTIME = "numba"


@numba.njit(parallel=True, cache=True)
def multiply(starts, indices, entries, x, out):
    for row in numba.prange(len(out)):
        total = x.dtype.type(0)
        for k in range(starts[row], starts[row + 1]):
            total += entries[k] * x[indices[k]]
        out[row] = total


def setup(problem, *, threads: int):
    """The timed product."""
    return lambda: multiply(problem.starts, problem.indices, problem.entries, problem.x, problem.out)
