"""GEMV on the GPU, a team of threads for several rows at once, with 16-byte accesses; bound by the GPU's memory.

A team of `team` threads reads consecutive elements of `rows` rows, with `unroll` pending accesses per row; unaligned
rows are read element by element. Adding up a row takes log2(team) exchanges between threads, which would cost more than
reading a row of a few elements: then several teams share a warp. Loads mark elements of the matrix as the first to be
evicted, so that the caches keep x; an element of x is loaded once for `rows` rows. If there are too few rows to occupy
the GPU, their columns are split over blocks, and a second kernel adds the partial sums in a fixed order: the result is
bitwise reproducible. A product with a matrix of a few megabytes is bound by the latency of a launch and of the first
loads.
"""

from math import inf

import numpy as np

from ladder import cuda
from ladder.build import binaries
from ladder.harness.contract import Problem, Run

DEVICE = "cuda"
RUNTIME = "cuda"
REQUIRES = ("cupy",)
SOURCE = "cuda_warp.cu"
# Among the fastest tilings of those tried on an H200, in both types, aligned or not (docs/experiments/gemv.md).
TILES = (
    {"block": 128, "team": 1, "rows": 4, "unroll": 2},
    {"block": 128, "team": 2, "rows": 4, "unroll": 2},
    {"block": 128, "team": 4, "rows": 4, "unroll": 2},
    {"block": 128, "team": 8, "rows": 4, "unroll": 2},
    {"block": 128, "team": 8, "rows": 4, "unroll": 4},
    {"block": 128, "team": 16, "rows": 4, "unroll": 4},
    {"block": 128, "team": 32, "rows": 4, "unroll": 4},
    {"block": 128, "team": 64, "rows": 4, "unroll": 4},
    {"block": 128, "team": 128, "rows": 4, "unroll": 4},
    {"block": 128, "team": 128, "rows": 2, "unroll": 6},
    {"block": 256, "team": 256, "rows": 2, "unroll": 6},
    {"block": 512, "team": 512, "rows": 2, "unroll": 6},
    {"block": 512, "team": 512, "rows": 1, "unroll": 4},
)
# The largest number of accesses per row that each of them is chosen for.
MAX_ACCESSES = (2, 4, 8, 16, 32, 72, 127, 256, 450, 768, 4500, 15000, inf)
ACCESS_BYTES = 16  # of the widest load
# Columns are split until each multiprocessor has TARGET_BLOCKS blocks, or each block only MIN_STEPS steps.
TARGET_BLOCKS, MIN_STEPS = 64, 4


def pick_tiling(accesses):
    """The tiling for rows of this number of accesses."""
    return next(tiling for tiling, max_accesses in zip(TILES, MAX_ACCESSES, strict=True) if accesses <= max_accesses)


def divide(n, m, access_elements, multiprocessors, block, team, rows, unroll):
    """The number of blocks along the rows, that of parts of the columns, and the columns of a part, whole accesses."""
    row_blocks = -(-n // (rows * (block // team)))
    max_parts = min(TARGET_BLOCKS * multiprocessors // row_blocks, m // (MIN_STEPS * team * unroll * access_elements))
    step = team * access_elements
    part_columns = -(-m // (max(1, max_parts) * step)) * step
    return row_blocks, -(-m // part_columns), part_columns


def setup(problem: Problem, *, block: int = 0, team: int = 0, rows: int = 0, unroll: int = 0) -> Run:
    """The timed product with this tiling, or by default with that of TILES for the shape."""
    matrix, x, y = problem.matrix, problem.x, problem.y
    (n, m), dtype = matrix.shape, y.dtype
    is_wide = not any(address % ACCESS_BYTES for address in (matrix.data.ptr, x.data.ptr, m * dtype.itemsize))
    access_elements = ACCESS_BYTES // dtype.itemsize if is_wide else 1
    default = (pick_tiling(m // access_elements),)
    (tiling,) = binaries.tiling_or(default, block=block, team=team, rows=rows, unroll=unroll)
    row_blocks, parts, part_columns = divide(n, m, access_elements, cuda.multiprocessors(), **tiling)
    product, add_up = (
        cuda.kernel("gemv", "cuda_warp", name, dtype.name, **tiling)
        for name in ("gemv_wide" if is_wide else "gemv_single", "add_up")
    )
    out = y if parts == 1 else problem.device.empty((n, parts), dtype)
    threads, arguments = (tiling["block"],), (matrix, x, out, np.int64(n), np.int64(m), np.int64(part_columns))
    steps = [("product", lambda: product((row_blocks, parts), threads, arguments))]
    if parts > 1:
        grid, sum_arguments = (-(-n * 32 // tiling["block"]),), (out, y, np.int64(n), np.int32(parts))
        steps += [("partial sums", lambda: add_up(grid, threads, sum_arguments))]
    return steps
