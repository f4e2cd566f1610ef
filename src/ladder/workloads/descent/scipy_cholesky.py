"""Peer: Cholesky factorisation by LAPACK in SciPy, of a copy of A made in the timed run; compute-bound for large n."""

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from ladder.harness.contract import Problem, Run

DEVICE = "host"
RUNTIME = "blas"
PEER = True
LIMITS = {"algorithm": ("direct",)}


def setup(problem: Problem, *, threads: int) -> Run:
    """The timed solve, on the threads that the harness has set."""
    factor = np.empty_like(problem.matrix)

    def solve():
        np.copyto(factor, problem.matrix)
        # LAPACK sees a row-major matrix as its transpose, which is equal here, and overwrites it in place.
        cholesky = cho_factor(factor.T, overwrite_a=True, check_finite=False)
        problem.x[:] = cho_solve(cholesky, problem.b, check_finite=False)
        problem.history[:], problem.steps[:] = 0, 0

    return solve
