"""Wrong on purpose: only the first two runs compute, so that later ones take impossibly little time."""

import itertools

import numpy as np

DEVICE = "host"
RUNTIME = "blas"


def setup(problem, *, threads: int = 1):
    a, b, out = problem.a, problem.b, problem.out
    calls = itertools.count()

    def run():
        if next(calls) < 2:
            np.matmul(a, b, out=out)

    return run
