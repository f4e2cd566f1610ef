"""GEMV on the GPU, a thread per row of a matrix that has been transposed: a warp reads consecutive elements.

Every line that comes from memory is used whole and once. What bounds it then is the number of threads: n of them, with
16 elements each on their way at best, can wait for the memory's latency with too few bytes in flight for its bandwidth,
the more so the smaller n is. The transposition reads and writes the matrix once, the bytes of two products; it is a
step of preparation, timed as a phase.
"""

import numpy as np

from ladder.devices import cuda
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
