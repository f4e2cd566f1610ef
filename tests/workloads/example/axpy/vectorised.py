"""AXPY in NumPy; memory-bound: in two passes, `out` is written, then read and written again."""

import numpy as np
from ladder.workloads.axpy import FACTOR

DEVICE = "host"
RUNTIME = "blas"
LIMITS = {"elements": (1, 1048576)}


def setup(problem, *, threads: int = 1):
    """One pass for the product and one for the sum."""

    def run():
        np.multiply(problem.x, problem.x.dtype.type(FACTOR), out=problem.out)
        np.add(problem.out, problem.y, out=problem.out)

    return run
