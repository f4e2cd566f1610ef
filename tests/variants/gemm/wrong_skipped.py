"""Wrong on purpose: it computes only if its inputs have changed since the last run."""

import numpy as np

DEVICE = "host"
RUNTIME = "blas"


def setup(problem, *, threads: int = 1):
    a, b, out = problem.a, problem.b, problem.out
    known = np.zeros(0)

    def run():
        nonlocal known
        if not np.array_equal(known, a):
            np.matmul(a, b, out=out)
            known = a.copy()

    return run
