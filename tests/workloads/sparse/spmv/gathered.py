"""SpMV in NumPy: all products, then a sum of each row."""

import numpy as np

DEVICE = "host"
RUNTIME = "blas"
LIMITS = {"rows": (1, 1048576)}


def setup(problem, *, threads: int = 1):
    """One pass for the products and one for the sums."""

    def run():
        np.add.reduceat(problem.entries * problem.x[problem.indices], problem.starts[:-1], out=problem.out)

    return run
