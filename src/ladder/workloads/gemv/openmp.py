"""GEMV in Numba, the rows shared among OpenMP threads; memory-bound.

A thread computes four rows at once: each element of x, which comes from the L2 cache if x is long, is then loaded once
for four products, and the prefetching of four rows keeps more cache lines in flight than that of one. Sums may be
reordered, so that the compiler uses vectors of partial sums: a single accumulator would be bound by the latency of
additions. With fewer rows than threads, some threads are idle.

Each thread has one contiguous block of rows, OpenMP's schedule(static). Numba's OpenMP layer can express no other
schedule; `c_openmp` has the others.
"""

import numba

from ladder.harness.contract import Problem, Run

DEVICE = "host"
RUNTIME = "numba"
OPTIONS = {"cache": True, "error_model": "numpy", "fastmath": {"contract", "reassoc", "nsz"}}


@numba.njit(**OPTIONS)
def row_range(count, thread, threads):
    """The half-open range of a thread's rows among `count`."""
    return count * thread // threads, count * (thread + 1) // threads


@numba.njit(**OPTIONS)
def dot(row, x):
    """The dot product of a row and x, two vectors of one length and dtype; 0 if they are empty."""
    total = x.dtype.type(0)
    for j in range(len(x)):
        total += row[j] * x[j]
    return total


@numba.njit(**OPTIONS)
def four_dots(a, b, c, d, x):
    """The dot products of four rows and x, vectors of one length and dtype."""
    sum_a = sum_b = sum_c = sum_d = x.dtype.type(0)
    for j in range(len(x)):
        sum_a += a[j] * x[j]
        sum_b += b[j] * x[j]
        sum_c += c[j] * x[j]
        sum_d += d[j] * x[j]
    return sum_a, sum_b, sum_c, sum_d


@numba.njit(parallel=True, **OPTIONS)
def multiply(matrix, x, y, threads):
    """y = matrix x on `threads` threads: arrays of (n, m), (m,) and (n,), C-contiguous and of one dtype; n may be 0."""
    for thread in numba.prange(threads):
        first, end = row_range(len(y), thread, threads)
        end_of_fours = end - (end - first) % 4
        for i in range(first, end_of_fours, 4):
            y[i], y[i + 1], y[i + 2], y[i + 3] = four_dots(matrix[i], matrix[i + 1], matrix[i + 2], matrix[i + 3], x)
        for i in range(end_of_fours, end):
            y[i] = dot(matrix[i], x)


def setup(problem: Problem, *, threads: int) -> Run:
    """The timed product, on the threads that the harness has set."""
    return lambda: multiply(problem.matrix, problem.x, problem.y, threads)
