"""GEMV on the GPU, a thread per column of the transposed matrix, so that loads are coalesced.

Every cache line loaded from memory is used completely and once. The bottleneck is then the number of threads: n threads
with at most 16 pending loads each have too few bytes in flight to saturate the bandwidth, unless n is large. The
transposition reads and writes the matrix once, which moves the bytes of two products; it is part of the preparation,
timed as a phase.
"""

import numpy as np

from ladder import cuda
from ladder.harness.contract import Problem, Run
from ladder.harness.steps import Steps
from ladder.workloads.gemv import launch

DEVICE = "cuda"
RUNTIME = "cuda"
REQUIRES = ("cupy",)
SOURCE = "cuda_coalesced.cu"


def transposition(problem, *, block, tile):
    """The transposed matrix, still empty, and the steps that write it by tiles of `tile` x `tile`."""
    n, m = problem.matrix.shape
    dtype = problem.y.dtype.name
    transposed = problem.device.empty((m, n), dtype)
    transpose = cuda.kernel("gemv", "cuda_coalesced", "transpose", dtype, block=block, tile=tile)
    tiles, arguments = -(-n // tile) * -(-m // tile), (problem.matrix, transposed, np.int64(n), np.int64(m))
    return transposed, [("transposition", lambda: transpose((tiles,), (tile, tile // 4), arguments))]


def setup(problem: Problem, *, block: int = 64, tile: int = 32) -> Run:
    """The transposition by tiles of `tile` x `tile`, and the timed product, in blocks of `block` threads."""
    transposed, prepare = transposition(problem, block=block, tile=tile)
    product = launch.thread_per_row("cuda_coalesced", problem, transposed, block=block, tile=tile)
    return Steps([("product", product)], prepare)
