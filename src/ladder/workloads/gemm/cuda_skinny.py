"""GEMM with a short side on the GPU ("tall and skinny", as TSM2 by Chen et al., ICS 2019), without tensor cores.

If the result has few rows or few columns, each element of the long operand is used that few times: the product is bound
by the bandwidth at which this operand is read, and tiles of a general product would be mostly padding. Here a warp
reads it once, at consecutive addresses whatever its rows' alignment, multiplies it by the short operand, which is in
shared memory, and keeps the sums in registers. If the sums have few terms, the product is bound by the bandwidth at
which the result is written: a thread keeps its columns of B in registers and writes row after row. `short` is the
longest short side that fits; a longer one is split into slices, each of which reads the long operand. The variant is
latency-bound with short sums, and compute-bound from a short side of about 24 elements in float32 on.

If there are too few rows or columns to occupy the GPU, blocks share the sums, and a second kernel adds their parts.
"""

from collections.abc import Callable
from functools import cache, lru_cache
from math import ceil
from typing import NamedTuple

import numpy as np

from ladder import cuda
from ladder.build import binaries
from ladder.cuda.gpus import load_cupy
from ladder.harness.contract import Problem, Run
from ladder.workloads.gemm import launch
from ladder.workloads.gemm.launch import NULL

DEVICE = "cuda"
RUNTIME = "cuda"
REQUIRES = ("cupy",)
SOURCE = "cuda_skinny.cu"
# By the longest short side that each holds. The best of some 25 tilings each on 62 random shapes, on an H200; the
# longest one pays only if the sums have few terms, when all of them must be in registers.
TILES = {
    "float64": (
        {"short": 4, "unroll": 4},
        {"short": 8, "unroll": 4},
        {"short": 12, "unroll": 4},
        {"short": 16, "unroll": 4},
    ),
    "float32": (
        {"short": 4, "unroll": 8},
        {"short": 8, "unroll": 8},
        {"short": 12, "unroll": 4},
        {"short": 16, "unroll": 4},
        {"short": 32, "unroll": 8},
    ),
}
MAX_SLICE = 16  # elements of a short side that a block computes with at most, unless the sums have few terms
READ_COST = 4  # of an element of the long operand, in multiply-adds
# As in cuda_skinny.cu.
WARP, WARPS, OUTER_ROWS, SHARED_BYTES, TERM_STEP = 32, 8, 128, 32768, 128
# Blocks that `gemm_across` aims at, per block that fits at once, so that the last ones take a small part of the time;
# the fewest terms of a block's part of a sum; and the rows of a block of `gemm_outer`, for which loading its columns
# takes little.
WAVES, MIN_TERMS, OUTER_BLOCK_ROWS = 4, 256, 512


class Operand(NamedTuple):
    """Strides of an operand, in elements: along the rows or columns of the result, and along the terms."""

    side: int
    term: int


class Plan(NamedTuple):
    """A launch of the kernel that computes a product, or `parts` of each of its sums."""

    kernel: str
    grid: tuple[int, ...]
    shared: int  # bytes of dynamic shared memory
    counts: tuple[int, ...]  # the kernel's last arguments: sides, terms, and a block's share of them
    arguments: Callable  # (a, b, c, out): the arguments before the counts
    parts: int = 1


def operands(form, m, n, k):
    """The Operands op(A), by rows, and op(B), by columns."""
    return Operand(1, m) if form == "tn" else Operand(k, 1), Operand(k, 1) if form == "nt" else Operand(1, n)


def pick_tiling(tilings, m, n, k):
    """The smallest tiling that holds all terms if these are few, else the one with the lowest cost per long element."""
    outer_tilings = [tiling for tiling in tilings if k <= min(m, n, tiling["short"])]
    if outer_tilings:
        return outer_tilings[0]
    candidates = [tiling for tiling in tilings if tiling["short"] <= MAX_SLICE] or tilings
    return min(candidates, key=lambda tiling: ceil(min(m, n) / tiling["short"]) * (tiling["short"] + READ_COST))


def lane_elements(short, itemsize):
    """LANE_ELEMENTS of the source: elements of the long side that a lane computes with at once."""
    return 2 if itemsize == 8 and short > 8 else 4


def plan(form, m, n, k, itemsize, multiprocessors, short, unroll):
    """The Plan of a product with a tiling."""
    a, b = operands(form, m, n, k)
    pitch = short + 16 // itemsize  # of the short operand in shared memory
    resident_blocks = multiprocessors * (2 if short <= MAX_SLICE else 1)  # MIN_BLOCKS of the source
    per_lane = lane_elements(short, itemsize)
    warp_elements, block_rows = WARP * per_lane, WARPS * per_lane
    if k <= short and k <= min(m, n):
        long_blocks = ceil(n / warp_elements)
        # At most two times WAVES and at least one wave of blocks.
        rows = max(
            ceil(m * long_blocks / (2 * WAVES * resident_blocks)),
            min(OUTER_BLOCK_ROWS, ceil(m * long_blocks / resident_blocks)),
        )
        grid, shared = (long_blocks, ceil(m / rows)), OUTER_ROWS * pitch * itemsize
        strides = [*map(np.int64, (*a, b.term, b.side))]
        return Plan(
            *("gemm_outer", grid, shared, (m, n, k, rows)),
            lambda a, b, c, out: (a, *strides[:2], b, *strides[2:], c, out),
        )
    is_swapped = m < n  # the long operand is B
    long_operand, short_operand = (b, a) if is_swapped else (a, b)
    long_side, short_side = (n, m) if is_swapped else (m, n)
    slices, max_terms = ceil(short_side / short), SHARED_BYTES // itemsize // short // TERM_STEP * TERM_STEP
    is_along = long_operand.term == 1
    # `max_terms`: those of the short operand that fit in shared memory; `min_parts`: the minimum of parts of a sum;
    # `long_blocks`: blocks along the long side.
    if is_along:
        max_terms *= 2
        min_parts, long_blocks, step_terms = ceil(k / max_terms), ceil(long_side / block_rows), WARP * unroll
        shared = short * (max_terms + 1) * itemsize
    else:
        min_parts, long_blocks, step_terms = 1, ceil(long_side / warp_elements), WARPS * unroll
        shared = max_terms * pitch * itemsize
    parts = max(min_parts, min(ceil(WAVES * resident_blocks / (long_blocks * slices)), k // MIN_TERMS))
    terms_per_block = ceil(k / (parts * step_terms)) * step_terms
    parts = ceil(k / terms_per_block)
    counts = long_side, short_side, k, terms_per_block
    if is_along:
        # A wave of blocks loads the short operand only once.
        long_blocks = min(long_blocks, max(1, resident_blocks // (parts * slices)))
        rows = ceil(long_side / (long_blocks * block_rows)) * block_rows
        long_blocks, counts = ceil(long_side / rows), (*counts, rows)
    long_stride, *short_strides = map(np.int64, (long_operand.side if is_along else long_operand.term, *short_operand))
    out_strides = [*map(np.int64, (1, n) if is_swapped else (n, 1))]  # along the long side and the short one

    def arguments(a, b, c, out):
        long_array, short_array = (b, a) if is_swapped else (a, b)
        return long_array, long_stride, short_array, *short_strides, c, out, *out_strides

    name = "gemm_along" if is_along else "gemm_across"
    return Plan(name, (long_blocks * slices, parts), shared, counts, arguments, parts)


def skinny_product(form, tilings):
    """`multiply(a, b, out, c=None)` of a form; shapes as in `ladder.workloads.gemm`."""

    @cache
    def prepare(m, n, k, dtype):
        """The Plan of a product, its kernel, and the one that adds parts."""
        tiling = pick_tiling(tilings[dtype] if isinstance(tilings, dict) else tilings, m, n, k)
        launch_plan = plan(form, m, n, k, np.dtype(dtype).itemsize, cuda.multiprocessors(), **tiling)
        names = launch_plan.kernel, "add"
        kernel, add = (cuda.kernel("gemm", "cuda_skinny", name, dtype, **tiling) for name in names)
        if launch_plan.shared > launch.DEFAULT_SHARED:
            kernel.max_dynamic_shared_size_bytes = launch_plan.shared
        return launch_plan, kernel, add

    @lru_cache(maxsize=4)
    def partial_sums(stream, elements, dtype):
        """A stream's array for the parts of sums."""
        return cuda.empty(elements, dtype)

    def multiply(a, b, out, c=None):
        (m, n), k, addend = out.shape, a.shape[0 if form == "tn" else 1], NULL if c is None else c
        launch_plan, kernel, add = prepare(m, n, k, out.dtype.name)
        parts, target, first_addend = launch_plan.parts, out, addend
        if parts > 1:
            stream = load_cupy().cuda.get_current_stream().ptr
            target, first_addend = partial_sums(stream, parts * m * n, out.dtype), NULL
        arguments = *launch_plan.arguments(a, b, first_addend, target), *map(np.int32, launch_plan.counts)
        kernel(launch_plan.grid, (WARP * WARPS,), arguments, shared_mem=launch_plan.shared)
        if parts > 1:
            arguments, shared = (target, addend, out, np.int64(m * n), np.int32(parts)), WARP * WARPS * out.itemsize
            add((ceil(m * n / WARP),), (WARP, WARPS), arguments, shared_mem=shared)

    return multiply


def setup(problem: Problem, *, short: int = 0, unroll: int = 0) -> Run:
    """The timed product with this tiling, or by default with that of TILES for the shape."""
    return launch.setup(
        problem, skinny_product(problem.sizes["form"], binaries.tiling_or(TILES, short=short, unroll=unroll))
    )
