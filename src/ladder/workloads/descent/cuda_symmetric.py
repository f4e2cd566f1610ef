"""A whole solve in one cooperative launch that reads one triangle of A and uses each element for two products.

Memory-bound, with half of the bytes of A; the sums of tiles, which are written and read once more, add 2 n / tile
elements per row, about 1 %. The four barriers per step are negligible if A is large, and dominate if it is small.
"""

from functools import partial

import numpy as np

from ladder import cuda
from ladder.cuda.gpus import load_cupy
from ladder.workloads.descent import launch

DEVICE = "cuda"
RUNTIME = "cuda"
REQUIRES = ("cupy",)
SOURCE = "cuda_symmetric.cu"
LIMITS = {"algorithm": ("steepest", "cg", "jacobi")}


def setup(problem, *, block: int = 256):
    """The timed solve, in tiles of `block` x `block` elements."""
    n, dtype = problem.sizes["n"], problem.x.dtype
    kernel = cuda.kernel("descent", "cuda_symmetric", "solve", dtype.name, is_cooperative=True, block=block)
    shared = 2 * (block // 32) * block * dtype.itemsize
    across = -(-n // block)
    blocks = min(cuda.blocks_at_once(kernel, block, shared), across * (across + 1) // 2)
    lengths = (n, n, across * n, 4 * blocks)
    memory = (problem.device.empty((length,), dtype) for length in lengths)
    counts = load_cupy().zeros(2, np.uint32)
    arguments = (*launch.outer(problem), *memory, np.int64(n), *launch.limits(problem), counts)
    return partial(kernel, (blocks,), (block,), arguments, shared_mem=shared)
