"""Wrong on purpose: only the first run is wrong, as in a kernel that reads what an earlier run has left."""

import numpy as np

DEVICE = "host"
RUNTIME = "blas"


def setup(problem, *, threads: int = 1):
    a, b, out = problem.a, problem.b, problem.out
    factors = iter([2])

    def run():
        np.matmul(a, b, out=out)
        out[...] *= next(factors, 1)

    return run
