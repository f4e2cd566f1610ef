"""Wrong on purpose: adds a millionth, in float32 a hundredth, to the first element of the middle row."""

import numpy as np

DEVICE = "host"
RUNTIME = "blas"


def setup(problem, *, threads: int = 1):
    a, b, out = problem.a, problem.b, problem.out

    def run():
        np.matmul(a, b, out=out)
        out[len(out) // 2, 0] += 1e-6 if out.dtype == np.float64 else 1e-2

    return run
