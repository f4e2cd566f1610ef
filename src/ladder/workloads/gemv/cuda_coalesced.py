"""GEMV on the GPU, a thread per row of the transposed matrix, so that loads are coalesced.

Every line loaded from memory is used completely and once. The bottleneck is then the number of threads: n threads with
at most 16 pending loads each have too few bytes in flight to saturate the bandwidth, the more so the smaller n is. The
transposition reads and writes the matrix once, the bytes of two products; it is part of the preparation, timed as a
phase.
"""

import numpy as np

from ladder import cuda
from ladder.harness.steps import Steps

DEVICE = "cuda"
RUNTIME = "cuda"
REQUIRES = ("cupy",)
SOURCE = "cuda_coalesced.cu"


def setup(problem, *, block: int = 64, tile: int = 32):
    """The timed product, in blocks of `block` threads, and the transposition by tiles of `tile` x `tile` before it."""
    n, m = problem.matrix.shape
    dtype = problem.y.dtype.name
    transposed = problem.device.empty((m, n), dtype)
    transpose, gemv = (
        cuda.kernel("gemv", "cuda_coalesced", name, dtype, block=block, tile=tile) for name in ("transpose", "gemv")
    )
    counts = np.int64(n), np.int64(m)
    tiles, from_matrix = -(-n // tile) * -(-m // tile), (problem.matrix, transposed, *counts)
    from_transposed = (transposed, problem.x, problem.y, *counts)
    return Steps(
        prepare=[("transposition", lambda: transpose((tiles,), (tile, tile // 4), from_matrix))],
        run=[("product", lambda: gemv((-(-n // block),), (block,), from_transposed))],
    )
