"""A whole solve in one cooperative launch that reads one triangle of A and uses each element for two products.

The variant is memory-bound, with half of the bytes of A. The sums of tiles are written once and read twice, 3 n /
`block` more elements per row: about 2 % more. Four barriers per step are negligible if A is large, else they dominate.
"""

from functools import partial

import numpy as np

from ladder import cuda
from ladder.cuda.gpus import load_cupy
from ladder.harness.contract import Problem, Run
from ladder.workloads.descent import launch

DEVICE = "cuda"
RUNTIME = "cuda"
REQUIRES = ("cupy",)
SOURCE = "cuda_symmetric.cu"
LIMITS = {"algorithm": ("steepest", "cg", "jacobi")}


def setup(problem: Problem, *, block: int = 256) -> Run:
    """The timed solve, in tiles of `block` x `block` elements."""
    n, dtype = problem.sizes["n"], problem.x.dtype
    kernel = cuda.kernel("descent", "cuda_symmetric", "solve", dtype.name, is_cooperative=True, block=block)
    shared_bytes = 2 * (block // 32) * block * dtype.itemsize
    tiles_across = -(-n // block)
    blocks = min(cuda.blocks_at_once(kernel, block, shared_bytes), tiles_across * (tiles_across + 1) // 2)
    lengths = (n, n, tiles_across * n, 4 * blocks)
    workspace = (problem.device.empty((length,), dtype) for length in lengths)
    counters = load_cupy().zeros(2, np.uint32)
    # `launch.solve_parameters` are the number of iterations, the algorithm and the tolerance.
    arguments = (*launch.problem_arrays(problem), *workspace, np.int64(n), *launch.solve_parameters(problem), counters)
    return partial(kernel, (blocks,), (block,), arguments, shared_mem=shared_bytes)
