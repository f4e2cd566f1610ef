"""STREAM on a GPU, with 16-byte accesses; purely memory-bound."""

import numpy as np

from ladder import cuda
from ladder.harness.contract import Problem, Run
from ladder.workloads.stream import BLOCK_ELEMENTS

DEVICE = "cuda"
RUNTIME = "cuda"
REQUIRES = ("cupy",)
SOURCE = "cuda.cu"


def setup(problem: Problem, *, block: int = 512) -> Run:
    """One pass over the arrays, with a thread block for each BLOCK_ELEMENTS of them."""
    name, count = problem.sizes["kernel"], problem.sizes["elements"]
    kernel = cuda.kernel("stream", "cuda", name, problem.sizes["dtype"], block=block)
    operands = (problem.a, problem.b) if name == "triad" else (problem.a,)
    arguments = (*operands, problem.out, np.int64(count))
    return lambda: kernel((-(-count // BLOCK_ELEMENTS),), (block,), arguments)
