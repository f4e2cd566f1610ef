"""Wrong on purpose: writes one NaN."""

import numpy as np

DEVICE = "host"
RUNTIME = "blas"


def setup(problem, *, threads: int = 1):
    a, b, out = problem.a, problem.b, problem.out

    def run():
        np.matmul(a, b, out=out)
        out[-1, -1] = np.nan

    return run
