"""GEMM with the loops interchanged, i-k-j: the innermost loop runs along rows of B and of the result.

Every access is contiguous and the inner iterations are independent, so the compiler vectorises them. Each iteration
loads and stores an element of the result, three memory accesses per multiply-add: a thread is bound by the bandwidth
of its L1 cache if a row of the result and all of B fit, else by that of L2 or L3. The form nt, whose B is transposed,
keeps a dot product as the innermost loop, whose sum the compiler may reorder to vectorise it (`reassoc`).
"""

import numba

from ladder.harness.contract import Problem, Run

DEVICE = "host"
RUNTIME = "numba"
OPTIONS = {"parallel": True, "cache": True, "error_model": "numpy"}


@numba.njit(**OPTIONS, fastmath={"contract"})
def multiply_nn(a, b, out, c):
    m, k = a.shape
    n = b.shape[1]
    for i in numba.prange(m):
        for j in range(n):
            out[i, j] = 0
        for p in range(k):
            factor = a[i, p]
            for j in range(n):
                out[i, j] += factor * b[p, j]


@numba.njit(**OPTIONS, fastmath={"contract"})
def multiply_tn(a, b, out, c):
    k, m = a.shape
    n = b.shape[1]
    for i in numba.prange(m):
        for j in range(n):
            out[i, j] = 0
        for p in range(k):
            factor = a[p, i]
            for j in range(n):
                out[i, j] += factor * b[p, j]


@numba.njit(**OPTIONS, fastmath={"contract", "reassoc", "nsz"})
def multiply_nt(a, b, out, c):
    m, k = a.shape
    n = b.shape[0]
    for i in numba.prange(m):
        for j in range(n):
            total = a.dtype.type(0)
            for p in range(k):
                total += a[i, p] * b[j, p]
            out[i, j] = total if c is None else total + c[i, j]


def product(form):
    """`multiply(a, b, out, c=None)` of a form, where only nt adds c; shapes as in `ladder.workloads.gemm`."""
    kernel = {"nn": multiply_nn, "tn": multiply_tn, "nt": multiply_nt}[form]
    return lambda a, b, out, c=None: kernel(a, b, out, c)


def setup(problem: Problem, *, threads: int) -> Run:
    """The timed product, on the threads that the harness has set."""
    multiply = product(problem.sizes["form"])
    return lambda: multiply(problem.a, problem.b, problem.out, problem.c)
