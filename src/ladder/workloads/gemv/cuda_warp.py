"""GEMV on the GPU, a warp or a block for some rows at once, by accesses of 16 bytes; bound by the card's memory.

A team of `team` threads reads consecutive elements of `rows` rows, `unroll` accesses to each before it uses the first;
rows that don't begin at multiples of 16 bytes are read element by element. Elements of the matrix are marked as read
once, so that x stays in the caches, and an access to x serves `rows` rows. Where there are too few rows to occupy the
card, their columns are split over blocks, and a second kernel adds up the partial sums in a fixed order: the result is
the same bits at every run. A matrix of a few megabytes is bound by latency instead, of a launch and of the first bytes.
"""

import numpy as np

from ladder.build import binaries
from ladder.devices import cuda

DEVICE = "cuda"
RUNTIME = "cuda"
REQUIRES = ("cupy",)
SOURCE = "cuda_warp.cu"
# For large matrices of long rows; for others; for rows so short that a block would be too wide. Near the fastest of 84
# that were tried on an H200 for each of twelve shapes.
TILES = (
    {"block": 512, "team": 512, "rows": 4, "unroll": 4},
    {"block": 256, "team": 128, "rows": 1, "unroll": 4},
    {"block": 256, "team": 32, "rows": 4, "unroll": 2},
)
ACCESS = 16  # bytes
# Columns are split until each multiprocessor has BLOCKS blocks, or each block STEPS steps.
BLOCKS, STEPS = 16, 4
LARGE = 2**23  # accesses


def suited(n, m, itemsize):
    """Of TILES the one that suits a matrix's shape."""
    long, usual, narrow = TILES
    accesses = m * itemsize / ACCESS
    is_long = n >= long["rows"] and accesses >= 2 * long["team"] * long["unroll"]
    if is_long and n * accesses >= LARGE:
        return long
    return usual if accesses >= usual["team"] else narrow


def division(n, m, width, multiprocessors, block, team, rows, unroll):
    """Blocks for the rows, parts of their columns, and columns of a part, whole accesses of `width` elements."""
    groups = -(-n // (rows * (block // team)))
    most = min(BLOCKS * multiprocessors // groups, m // (STEPS * team * unroll * width))
    step = team * width
    columns = -(-m // (max(1, most) * step)) * step
    return groups, -(-m // columns), columns


def setup(problem, *, block: int = 0, team: int = 0, rows: int = 0, unroll: int = 0):
    """The timed product with this tiling, or, where none is named, with that of TILES that suits the shape."""
    matrix, x, y = problem.matrix, problem.x, problem.y
    (n, m), dtype = matrix.shape, y.dtype
    (tiling,) = binaries.tiling_or((suited(n, m, dtype.itemsize),), block=block, team=team, rows=rows, unroll=unroll)
    is_wide = not any(address % ACCESS for address in (matrix.data.ptr, x.data.ptr, m * dtype.itemsize))
    width = ACCESS // dtype.itemsize if is_wide else 1
    groups, parts, columns = division(n, m, width, cuda.multiprocessors(), **tiling)
    product, add_up = (
        cuda.kernel("gemv", "cuda_warp", name, dtype.name, **tiling)
        for name in ("gemv_wide" if is_wide else "gemv_single", "add_up")
    )
    out = y if parts == 1 else problem.device.empty((n, parts), dtype)
    threads, arguments = (tiling["block"],), (matrix, x, out, np.int64(n), np.int64(m), np.int64(columns))
    steps = [("product", lambda: product((groups, parts), threads, arguments))]
    if parts > 1:
        grid, of_sums = (-(-n * 32 // tiling["block"]),), (out, y, np.int64(n), np.int32(parts))
        steps += [("partial sums", lambda: add_up(grid, threads, of_sums))]
    return steps
