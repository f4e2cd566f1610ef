"""GEMV by the BLAS that SciPy was built with (OpenBLAS in its wheels): dgemv and sgemv.

BLAS expects column-major matrices, so the row-major matrix is passed as a transposed column-major matrix, and nothing
is copied. The variant is memory-bound.
"""

import numpy as np
from scipy.linalg import blas

from ladder.harness.contract import Problem, Run

DEVICE = "host"
RUNTIME = "blas"


def setup(problem: Problem, *, threads: int) -> Run:
    """The timed product, on the threads that the harness has set."""
    gemv = blas.dgemv if problem.y.dtype == np.float64 else blas.sgemv
    return lambda: gemv(1.0, problem.matrix.T, problem.x, 0.0, problem.y, trans=1, overwrite_y=1)
