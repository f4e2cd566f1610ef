"""The recurrence on a GPU, a fused multiply-add per step without tensor cores; purely compute-bound."""

import numpy as np

from ladder import cuda
from ladder.harness.contract import Problem, Run
from ladder.workloads.fma import factors

DEVICE = "cuda"
RUNTIME = "cuda"
REQUIRES = ("cupy",)
SOURCE = "cuda.cu"


def setup(problem: Problem, *, block: int = 128, chains: int = 8) -> Run:
    """The recurrence of every element, with `chains` elements per thread."""
    sizes = problem.sizes
    kernel = cuda.kernel("fma", "cuda", "recurrence", sizes["dtype"], block=block, chains=chains)
    arguments = (problem.x, problem.out, np.int64(sizes["elements"]), np.int32(sizes["length"]), *factors(sizes))
    return lambda: kernel((-(-sizes["elements"] // (block * chains)),), (block,), arguments)
