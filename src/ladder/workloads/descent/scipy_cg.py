"""Peer: SciPy's conjugate gradients with a dense operator, the product by NumPy's BLAS; bound by reading A."""

import numpy as np
from scipy.sparse.linalg import LinearOperator, cg

from ladder.harness.contract import Problem, Run
from ladder.workloads.descent.recorder import Recorder, tolerances

DEVICE = "host"
RUNTIME = "blas"
PEER = True
LIMITS = {"algorithm": ("cg", "jacobi")}


def setup(problem: Problem, *, threads: int) -> Run:
    """The timed solve, on the threads that the harness has set."""
    matrix = problem.matrix
    shape_and_dtype = {"shape": matrix.shape, "dtype": matrix.dtype}
    operator = LinearOperator(matvec=lambda v: matrix @ v, **shape_and_dtype)
    stopping = {"maxiter": problem.sizes["iterations"]} | tolerances(problem, np.finfo(matrix.dtype))

    def solve():
        recorder = Recorder(problem)
        preconditioner = LinearOperator(matvec=recorder.precondition, **shape_and_dtype)
        problem.x[:], _ = cg(operator, problem.b, M=preconditioner, **stopping)
        recorder.end(recorder.r)  # which SciPy updates in place

    return solve
