"""The solve with every product by the BLAS that SciPy was built with (OpenBLAS in its wheels).

With `product` = gemv, BLAS reads all of A; with symv, it reads one triangle and uses each element twice. Large systems
are memory-bound, small ones bound by calls from Python. Nothing is allocated in the loop. `recompute` is as in
`openmp`.
"""

from typing import Literal

import numpy as np
from scipy.linalg.blas import get_blas_funcs

from ladder.harness.contract import Problem, Run

DEVICE = "host"
RUNTIME = "blas"
LIMITS = {"algorithm": ("steepest", "cg", "jacobi")}


def setup(problem: Problem, *, threads: int, product: Literal["gemv", "symv"] = "gemv", recompute: int = 0) -> Run:
    """The timed solve, on the threads that the harness has set."""
    b, x, history, dtype = problem.b, problem.x, problem.history, problem.x.dtype
    matrix_product, dot, add, scale = get_blas_funcs((product, "dot", "axpy", "scal"), dtype=dtype)
    # A row-major matrix is the transpose of a column-major one.
    matrix, transposition = problem.matrix.T, {"trans": 1} if product == "gemv" else {}
    algorithm, tiny = problem.sizes["algorithm"], float(np.finfo(dtype).tiny)
    r, q = np.empty((2, len(b)), dtype)
    z = np.empty_like(r) if algorithm == "jacobi" else r
    p = z if algorithm == "steepest" else np.empty_like(r)

    def multiply(v, out, alpha=1.0, beta=0.0):
        matrix_product(alpha, matrix, v, beta, out, overwrite_y=1, **transposition)

    def residual_products():
        """r.r and r.z; writes z."""
        if z is r:
            return (dot(r, r),) * 2
        np.divide(r, matrix.diagonal(), out=z)
        return dot(r, r), dot(r, z)

    def solve():
        x[:], history[:], r[:] = 0, 0, b
        (rr, rz), step = residual_products(), 0
        p[:], history[0] = z, rr
        limit = problem.sizes["tolerance"] ** 2 * rr
        while step < len(history) - 1 and rr > limit:
            step += 1
            multiply(p, q)
            alpha = rz / max(dot(p, q), tiny)
            add(p, x, a=alpha)
            if recompute and step % recompute == 0:
                r[:] = b
                multiply(x, r, -1.0, 1.0)
            else:
                add(q, r, a=-alpha)
            previous_rz = rz
            rr, rz = residual_products()
            history[step] = rr
            if p is not z:
                scale(rz / max(previous_rz, tiny), p)
                add(z, p)
        problem.steps[0] = step

    return solve
