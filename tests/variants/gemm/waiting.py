"""The product by BLAS after so many seconds, time to do something to its job, or once there is a file `go` here."""

import time
from pathlib import Path

from ladder.workloads.gemm import blas

DEVICE = "host"
RUNTIME = "blas"


def setup(problem, *, seconds: int, threads: int):
    """The product, when the waiting is over."""
    end = time.monotonic() + seconds
    while time.monotonic() < end and not Path("go").exists():
        time.sleep(0.05)
    return blas.setup(problem, threads=threads)
