"""Wrong on purpose: drops the last, partial tile of the sum."""

import numpy as np

DEVICE = "host"
RUNTIME = "blas"


def setup(problem, *, threads: int = 1):
    a, b, out = problem.a, problem.b, problem.out
    tile = 8

    def run():
        full_length = a.shape[1] // tile * tile
        np.matmul(a[:, :full_length], b[:full_length], out=out)

    return run
