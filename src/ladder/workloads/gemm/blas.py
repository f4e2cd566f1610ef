"""GEMM by the BLAS that SciPy was built with (OpenBLAS in its wheels): dgemm and sgemm.

BLAS expects column-major matrices, so a row-major product is computed as its transpose, out^T = B^T A^T: the transposed
views are column-major, and no operand is copied. An addend is copied into the result and added with beta = 1.
The variant is compute-bound; with few rows bound by packing, with one row by the bandwidth at which B is read.
"""

import numpy as np
from scipy.linalg import blas

from ladder.harness.contract import Problem, Run

DEVICE = "host"
RUNTIME = "blas"


def product(form):
    """`multiply(a, b, out, c=None)` of a form; shapes as in `ladder.workloads.gemm`."""
    transpose_a, transpose_b = form == "tn", form == "nt"

    def multiply(a, b, out, c=None):
        gemm = blas.dgemm if out.dtype == np.float64 else blas.sgemm
        if c is not None:
            np.copyto(out, c)
        gemm(
            1.0,
            b.T,
            a.T,
            0.0 if c is None else 1.0,
            out.T,
            trans_a=transpose_b,
            trans_b=transpose_a,
            overwrite_c=1,
        )

    return multiply


def setup(problem: Problem, *, threads: int) -> Run:
    """The timed product, on the threads that the harness has set."""
    multiply = product(problem.sizes["form"])
    return lambda: multiply(problem.a, problem.b, problem.out, problem.c)
