"""The solve in Numba on OpenMP threads; large systems are memory-bound.

A thread has a contiguous share of the rows, four of them at once as in `gemv/openmp.py`, and of every vector. An
iteration has two or three barriers, which bound small systems. Partial sums of the threads are stored separately and
added in order, so that results are bitwise reproducible. With `recompute` = k every k-th residual is b - A x, a second
product; k = 1 is the program that reads A twice per iteration. Conjugate gradients that recompute a tiny residual
diverge: they need a tolerance.
"""

import numba
import numpy as np

from ladder.workloads.gemv.openmp import OPTIONS, dot, four_dots, part_of

DEVICE = "host"
RUNTIME = "numba"
LIMITS = {"algorithm": ("steepest", "cg", "jacobi")}
# The tasks of the threads between two barriers.
BEGIN, MULTIPLY, STEP, RECOMPUTE, TURN = range(5)


@numba.njit(**OPTIONS)
def multiply(rows, v, out):
    """out = rows v: some rows of A, a vector, and as many elements as there are rows."""
    rest = len(out) - len(out) % 4
    for i in range(0, rest, 4):
        out[i], out[i + 1], out[i + 2], out[i + 3] = four_dots(rows[i], rows[i + 1], rows[i + 2], rows[i + 3], v)
    for i in range(rest, len(out)):
        out[i] = dot(rows[i], v)


@numba.njit(**OPTIONS)
def add(factor, v, out):
    """out += factor v."""
    for i in range(len(out)):
        out[i] += factor * v[i]


@numba.njit(**OPTIONS)
def measure(r, z, weights, sums):
    """Write z = r / weights, and r.r and r.z to `sums`. Without weights z is r."""
    sums[0] = sums[1] = dot(r, r)
    if len(weights):
        for i in range(len(r)):
            z[i] = r[i] / weights[i]
        sums[1] = dot(r, z)


@numba.njit(**OPTIONS)
def share(task, factor, first, end, matrix, b, x, vectors, weights, sums):
    """A thread's share of a task: rows `first` to `end` - 1 of A, the same elements of the vectors, and its sums."""
    r, z, p, q = vectors
    own_x, own_r, own_z, own_p, own_q = x[first:end], r[first:end], z[first:end], p[first:end], q[first:end]
    if task == MULTIPLY:
        multiply(matrix[first:end], p, own_q)
        sums[0] = dot(own_p, own_q)
        return
    if task == TURN:
        for i in range(first, end):
            p[i] = z[i] + factor * p[i]
        return
    if task == BEGIN:
        for i in range(first, end):
            x[i], r[i] = 0, b[i]
        for i in range(first, min(end, len(weights))):
            weights[i] = matrix[i, i]
    elif task == RECOMPUTE:
        multiply(matrix[first:end], x, own_r)
        for i in range(first, end):
            r[i] = b[i] - r[i]
    else:
        add(factor, own_p, own_x)
        add(-factor, own_q, own_r)
    measure(own_r, own_z, weights[first:end], sums)
    if task == BEGIN:
        for i in range(first, end):
            p[i] = z[i]


@numba.njit(parallel=True, **OPTIONS)
def together(task, factor, matrix, b, x, vectors, weights, sums):
    """Run a task on all threads, as many as `sums` has rows."""
    threads = len(sums)
    for thread in numba.prange(threads):
        first, end = part_of(len(x), thread, threads)
        share(task, factor, first, end, matrix, b, x, vectors, weights, sums[thread])


@numba.njit(**OPTIONS)
def total(sums, column):
    """The sum of a column, in order."""
    found = sums[0, column]
    for thread in range(1, len(sums)):
        found += sums[thread, column]
    return found


@numba.njit(**OPTIONS)
def solve(matrix, b, x, history, steps, vectors, weights, sums, is_conjugate, tolerance, recompute, tiny):
    """Solve; shapes as in `ladder.workloads.descent`.

    `vectors` are r, z, p and q (n,); z is r without a preconditioner, and p is z unless directions are conjugate.
    `weights`, for the diagonal of A, is empty without a preconditioner. `sums` (threads, 2) holds the threads' parts.
    `tiny`, the smallest normal number of the dtype, avoids 0 / 0 for a tiny residual.
    """
    arrays = matrix, b, x, vectors, weights, sums
    together(BEGIN, tiny, *arrays)
    rr, rz = total(sums, 0), total(sums, 1)
    limit = tolerance**2 * rr
    history[:] = 0
    history[0], step = rr, 0
    while step < len(history) - 1 and rr > limit:
        step += 1
        together(MULTIPLY, tiny, *arrays)
        alpha = rz / max(total(sums, 0), tiny)
        together(STEP, alpha, *arrays)
        if recompute > 0 and step % recompute == 0:
            together(RECOMPUTE, tiny, *arrays)
        before, rr, rz = rz, total(sums, 0), total(sums, 1)
        history[step] = rr
        if is_conjugate:
            together(TURN, rz / max(before, tiny), *arrays)
    steps[0] = step


def setup(problem, *, threads: int, recompute: int = 0):
    """The timed solve, on the threads that the harness has set."""
    n, dtype, algorithm = len(problem.b), problem.x.dtype, problem.sizes["algorithm"]
    r, q = np.empty((2, n), dtype)
    z = np.empty(n, dtype) if algorithm == "jacobi" else r
    p = z if algorithm == "steepest" else np.empty(n, dtype)
    weights, sums = np.empty(n if algorithm == "jacobi" else 0, dtype), np.empty((threads, 2), dtype)
    how = algorithm != "steepest", problem.sizes["tolerance"], recompute, np.finfo(dtype).tiny
    arrays = problem.matrix, problem.b, problem.x, problem.history, problem.steps
    return lambda: solve(*arrays, (r, z, p, q), weights, sums, *how)
