"""Wrong on purpose: leaves one element unwritten."""

import numpy as np

DEVICE = "host"
RUNTIME = "blas"


def setup(problem, *, threads: int = 1):
    a, b, out = problem.a, problem.b, problem.out

    def run():
        old_value = out[-1, 0]
        np.matmul(a, b, out=out)
        out[-1, 0] = old_value

    return run
