"""Wrong on purpose: computes in half the precision that it says."""

import numpy as np

DEVICE = "host"
RUNTIME = "blas"


def setup(problem, *, threads: int = 1):
    a, b, out = problem.a, problem.b, problem.out
    lower_dtype = {np.dtype(np.float64): np.float32, np.dtype(np.float32): np.float16}[out.dtype]

    def run():
        out[...] = np.matmul(a.astype(lower_dtype), b.astype(lower_dtype), dtype=np.float32)

    return run
