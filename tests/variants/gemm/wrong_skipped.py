"""Wrong on purpose: it computes only if its inputs have changed since the last run."""

import numpy as np

DEVICE = "host"
RUNTIME = "blas"


def setup(problem, *, threads: int = 1):
    a, b, out = problem.a, problem.b, problem.out
    last_input = np.zeros(0)

    def run():
        nonlocal last_input
        if not np.array_equal(last_input, a):
            np.matmul(a, b, out=out)
            last_input = a.copy()

    return run
