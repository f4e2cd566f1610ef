"""The product by BLAS; its setup waits for a time or until a file `go` exists, so that a test can act on the job."""

import time
from pathlib import Path

from ladder.workloads.gemm import blas

DEVICE = "host"
RUNTIME = "blas"


def setup(problem, *, seconds: int, threads: int):
    """Wait `seconds`, or until the working directory has a file `go`; returns the product by BLAS."""
    end = time.monotonic() + seconds
    while time.monotonic() < end and not Path("go").exists():
        time.sleep(0.05)
    return blas.setup(problem, threads=threads)
