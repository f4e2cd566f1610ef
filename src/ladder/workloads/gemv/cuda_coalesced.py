"""GEMV on the GPU, a thread per row of the transposed matrix, so that loads are coalesced.

Every cache line loaded from memory is used completely and once. The bottleneck is then the number of threads: n threads
with at most 16 pending loads each have too few bytes in flight to saturate the bandwidth, unless n is large. The
transposition reads and writes the matrix once, which moves the bytes of two products; it is part of the preparation,
timed as a phase.
"""

import numpy as np

from ladder import cuda
from ladder.harness.steps import Steps

DEVICE = "cuda"
RUNTIME = "cuda"
REQUIRES = ("cupy",)
SOURCE = "cuda_coalesced.cu"


def setup(problem, *, block: int = 64, tile: int = 32):
    """The transposition by tiles of `tile` x `tile`, and the timed product, in blocks of `block` threads."""
    n, m = problem.matrix.shape
    dtype = problem.y.dtype.name
    transposed = problem.device.empty((m, n), dtype)
    transpose, gemv = (
        cuda.kernel("gemv", "cuda_coalesced", name, dtype, block=block, tile=tile) for name in ("transpose", "gemv")
    )
    counts = np.int64(n), np.int64(m)
    tiles = -(-n // tile) * -(-m // tile)
    transpose_arguments = (problem.matrix, transposed, *counts)
    gemv_arguments = (transposed, problem.x, problem.y, *counts)
    return Steps(
        prepare=[("transposition", lambda: transpose((tiles,), (tile, tile // 4), transpose_arguments))],
        run=[("product", lambda: gemv((-(-n // block),), (block,), gemv_arguments))],
    )
