"""GEMM as three nested loops, the outermost shared among OpenMP threads; one thread is the serial program.

Each element of the result is one dot product, summed in order in one accumulator. A thread is bound by the latency of
this chain of additions, 3 or 4 cycles each; products aren't fused into the sum, since the latency of an FMA is longer
on some CPUs and never shorter. In the forms nn and tn it is also bound by cache lines, since strided accesses to B (and
A) use one element of each line.

Numba's OpenMP layer gives each thread one contiguous block of rows, OpenMP's schedule(static), and can express no other
schedule: `numba.parallel_chunksize` has no effect there on the assignment of rows, as `numba.get_thread_id` shows.
"""

import numba

from ladder.harness.contract import Problem, Run

DEVICE = "host"
RUNTIME = "numba"
OPTIONS = {"parallel": True, "cache": True, "error_model": "numpy"}


@numba.njit(**OPTIONS)
def multiply_nn(a, b, out, c):
    m, k = a.shape
    n = b.shape[1]
    for i in numba.prange(m):
        for j in range(n):
            total = a.dtype.type(0)
            for p in range(k):
                total += a[i, p] * b[p, j]
            out[i, j] = total


@numba.njit(**OPTIONS)
def multiply_tn(a, b, out, c):
    k, m = a.shape
    n = b.shape[1]
    for i in numba.prange(m):
        for j in range(n):
            total = a.dtype.type(0)
            for p in range(k):
                total += a[p, i] * b[p, j]
            out[i, j] = total


@numba.njit(**OPTIONS)
def multiply_nt(a, b, out, c):
    m, k = a.shape
    n = b.shape[0]
    for i in numba.prange(m):
        for j in range(n):
            total = a.dtype.type(0)
            for p in range(k):
                total += a[i, p] * b[j, p]
            if c is not None:
                total += c[i, j]
            out[i, j] = total


def product(form):
    """`multiply(a, b, out, c=None)` of a form, where only nt adds c; shapes as in `ladder.workloads.gemm`."""
    kernel = {"nn": multiply_nn, "tn": multiply_tn, "nt": multiply_nt}[form]
    return lambda a, b, out, c=None: kernel(a, b, out, c)


def setup(problem: Problem, *, threads: int) -> Run:
    """The timed product, on the threads that the harness has set."""
    multiply = product(problem.sizes["form"])
    return lambda: multiply(problem.a, problem.b, problem.out, problem.c)
