"""STREAM in Numba, with blocks of the arrays shared among OpenMP threads; purely memory-bound."""

import numba

from ladder.harness.contract import Problem, Run
from ladder.workloads.stream import BLOCK_ELEMENTS, FACTOR

DEVICE = "host"
RUNTIME = "numba"
OPTIONS = {
    "parallel": True,
    "cache": True,
    "error_model": "numpy",
    "fastmath": {"contract", "reassoc", "nsz"},
}


@numba.njit(**OPTIONS)
def read(a, out):
    for block in numba.prange(len(out)):
        # With a slice the compiler knows that indices are in range. Otherwise it doesn't vectorise the loop, which then
        # reaches a quarter of the bandwidth.
        part = a[block * BLOCK_ELEMENTS : (block + 1) * BLOCK_ELEMENTS]
        total = a.dtype.type(0)
        for i in range(len(part)):
            total += part[i]
        out[block] = total


@numba.njit(**OPTIONS)
def copy(a, out):
    for i in numba.prange(len(a)):
        out[i] = a[i]


@numba.njit(**OPTIONS)
def triad(a, b, out):
    factor = a.dtype.type(FACTOR)
    for i in numba.prange(len(a)):
        out[i] = a[i] + factor * b[i]


def setup(problem: Problem, *, threads: int) -> Run:
    """One pass over the arrays."""
    if problem.sizes["kernel"] == "triad":
        return lambda: triad(problem.a, problem.b, problem.out)
    kernel = {"read": read, "copy": copy}[problem.sizes["kernel"]]
    return lambda: kernel(problem.a, problem.out)
