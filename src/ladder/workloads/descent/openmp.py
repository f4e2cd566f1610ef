"""The solve in Numba on OpenMP threads; large systems are memory-bound.

A thread has a contiguous share of the rows and of every vector. It multiplies four rows at once, as in
`gemv/openmp.py`. An iteration has two to four barriers, which bound small systems. Partial sums of the threads are
stored separately and added in order, so that results are bitwise reproducible. With `recompute` = k every k-th residual
is computed as b - A x, by a second product; with k = 1, A is read twice per iteration. When rounding dominates such a
residual, conjugate gradients diverge if k is small, so they need a tolerance; if k is large, they stagnate.
"""

import numba
import numpy as np

from ladder.harness.contract import Problem, Run
from ladder.workloads.gemv.openmp import OPTIONS, dot, four_dots, row_range

DEVICE = "host"
RUNTIME = "numba"
LIMITS = {"algorithm": ("steepest", "cg", "jacobi")}
# The tasks of the threads between two barriers.
BEGIN, MULTIPLY, UPDATE, RECOMPUTE, UPDATE_DIRECTION = range(5)


@numba.njit(**OPTIONS)
def multiply(rows, v, out):
    """out = rows v: `rows` (k, n) are k rows of A, v is (n,), and out (k,)."""
    tail = len(out) - len(out) % 4
    for i in range(0, tail, 4):
        out[i], out[i + 1], out[i + 2], out[i + 3] = four_dots(rows[i], rows[i + 1], rows[i + 2], rows[i + 3], v)
    for i in range(tail, len(out)):
        out[i] = dot(rows[i], v)


@numba.njit(**OPTIONS)
def add(factor, v, out):
    """out += factor v."""
    for i in range(len(out)):
        out[i] += factor * v[i]


@numba.njit(**OPTIONS)
def residual_products(r, z, diagonal, sums):
    """Write z = r / diagonal, and r.r and r.z to `sums`. If `diagonal` is empty, z is r."""
    sums[0] = sums[1] = dot(r, r)
    if len(diagonal):
        for i in range(len(r)):
            z[i] = r[i] / diagonal[i]
        sums[1] = dot(r, z)


@numba.njit(**OPTIONS)
def run_share(task, factor, first, end, matrix, b, x, vectors, diagonal, sums):
    """Run a thread's share of a task, rows `first` to `end` - 1 of A and of the vectors; writes its `sums` (2,).

    `factor` is alpha for UPDATE, beta for UPDATE_DIRECTION, and otherwise unused.
    """
    r, z, p, q = vectors
    x_part, r_part, z_part, p_part, q_part = x[first:end], r[first:end], z[first:end], p[first:end], q[first:end]
    if task == MULTIPLY:
        multiply(matrix[first:end], p, q_part)
        sums[0] = dot(p_part, q_part)
        return
    if task == UPDATE_DIRECTION:
        for i in range(first, end):
            p[i] = z[i] + factor * p[i]
        return
    if task == BEGIN:
        for i in range(first, end):
            x[i], r[i] = 0, b[i]
        for i in range(first, min(end, len(diagonal))):
            diagonal[i] = matrix[i, i]
    elif task == RECOMPUTE:
        multiply(matrix[first:end], x, r_part)
        for i in range(first, end):
            r[i] = b[i] - r[i]
    else:
        add(factor, p_part, x_part)
        add(-factor, q_part, r_part)
    residual_products(r_part, z_part, diagonal[first:end], sums)
    if task == BEGIN:
        for i in range(first, end):
            p[i] = z[i]


@numba.njit(parallel=True, **OPTIONS)
def run_task(task, factor, matrix, b, x, vectors, diagonal, sums):
    """Run a task on as many threads as `sums` has rows."""
    threads = len(sums)
    for thread in numba.prange(threads):
        first, end = row_range(len(x), thread, threads)
        run_share(task, factor, first, end, matrix, b, x, vectors, diagonal, sums[thread])


@numba.njit(**OPTIONS)
def total(sums, column):
    """The sum of a column of `sums`, in the order of the threads."""
    result = sums[0, column]
    for thread in range(1, len(sums)):
        result += sums[thread, column]
    return result


@numba.njit(**OPTIONS)
def solve(matrix, b, x, history, steps, vectors, diagonal, sums, is_conjugate, tolerance, recompute, tiny):
    """Solve; shapes as in `ladder.workloads.descent`.

    `vectors` are r, z, p and q (n,); z is r without a preconditioner, and p is z unless directions are conjugate.
    `diagonal`, for that of A, is empty without a preconditioner. `sums` (threads, 2) holds the threads' partial sums.
    `tiny`, the smallest normal number of the dtype, avoids 0 / 0 for a tiny residual, and stands for factors that tasks
    don't use.
    """
    arrays = matrix, b, x, vectors, diagonal, sums
    run_task(BEGIN, tiny, *arrays)
    rr, rz = total(sums, 0), total(sums, 1)
    limit = tolerance**2 * rr
    history[:] = 0
    history[0], step = rr, 0
    while step < len(history) - 1 and rr > limit:
        step += 1
        run_task(MULTIPLY, tiny, *arrays)
        alpha = rz / max(total(sums, 0), tiny)
        run_task(UPDATE, alpha, *arrays)
        if recompute > 0 and step % recompute == 0:
            run_task(RECOMPUTE, tiny, *arrays)
        previous_rz, rr, rz = rz, total(sums, 0), total(sums, 1)
        history[step] = rr
        if is_conjugate:
            run_task(UPDATE_DIRECTION, rz / max(previous_rz, tiny), *arrays)
    steps[0] = step


def setup(problem: Problem, *, threads: int, recompute: int = 0) -> Run:
    """The timed solve, on the threads that the harness has set."""
    n, dtype, algorithm = len(problem.b), problem.x.dtype, problem.sizes["algorithm"]
    r, q = np.empty((2, n), dtype)
    z = np.empty(n, dtype) if algorithm == "jacobi" else r
    p = z if algorithm == "steepest" else np.empty(n, dtype)
    diagonal, sums = np.empty(n if algorithm == "jacobi" else 0, dtype), np.empty((threads, 2), dtype)
    options = algorithm != "steepest", problem.sizes["tolerance"], recompute, np.finfo(dtype).tiny
    arrays = problem.matrix, problem.b, problem.x, problem.history, problem.steps
    return lambda: solve(*arrays, (r, z, p, q), diagonal, sums, *options)
