"""The product by BLAS after some seconds of waiting: time to do something to its job."""

import time

from ladder.workloads.gemm import blas

DEVICE = "host"
RUNTIME = "blas"


def setup(problem, *, seconds: int, threads: int):
    """The product, when the seconds are over."""
    time.sleep(seconds)
    return blas.setup(problem, threads=threads)
