"""Peer: Cholesky factorisation by LAPACK in SciPy, of a copy of A made in the timed run; compute-bound."""

import numpy as np
from scipy.linalg import cho_factor, cho_solve

DEVICE = "host"
RUNTIME = "blas"
PEER = True
LIMITS = {"algorithm": ("direct",)}


def setup(problem, *, threads: int):
    """The timed solve, on the threads that the harness has set."""
    factor = np.empty_like(problem.matrix)

    def solve():
        np.copyto(factor, problem.matrix)
        # For LAPACK, a row-major matrix is transposed, which changes nothing here; it is overwritten in place.
        of_lapack = cho_factor(factor.T, overwrite_a=True, check_finite=False)
        problem.x[:] = cho_solve(of_lapack, problem.b, check_finite=False)
        problem.history[:], problem.steps[:] = 0, 0

    return solve
