"""GEMM in float64 on the tensor cores of compute capability 9.0, by persistent blocks.

A block computes tiles of `bm` x `bn` elements of the result, a warp `wm` x `wn` of them; `blocks` of them fit on a
multiprocessor. One warpgroup copies the operands' tiles to `stages` buffers with the Tensor Memory Accelerator (TMA)
and runs ahead of the warps that multiply, across tiles. The TMA requires rows of a multiple of 16 bytes; the elements
of other operands are copied one by one.

Tiles rarely divide evenly among the blocks. Those left over are split along k, so that all blocks have as many steps
("stream-K", Osama, Merrill, Cecka, Garland and Owens, PPoPP 2023), unless `stream_k` is off. Bound by the tensor cores;
small results by the latency of two launches, the second of which adds the sums of split tiles.
"""

from functools import cache, lru_cache
from math import ceil
from typing import Literal, NamedTuple

import numpy as np

from ladder import cuda
from ladder.build import binaries
from ladder.cuda import tensor_map
from ladder.cuda.gpus import load_cupy
from ladder.errors import LadderError
from ladder.harness.contract import Problem, Run
from ladder.workloads.gemm import launch

DEVICE = "cuda"
RUNTIME = "cuda"
REQUIRES = ("cupy",)
SOURCE = "cuda_tma.cu"
LIMITS = {"dtype": ("float64",)}
TILES = (
    {"bm": 128, "bn": 128, "wm": 64, "wn": 32, "stages": 6, "blocks": 1},
    {"bm": 192, "bn": 96, "wm": 48, "wn": 48, "stages": 6, "blocks": 1},
    {"bm": 64, "bn": 128, "wm": 32, "wn": 32, "stages": 8, "blocks": 1},
    {"bm": 64, "bn": 64, "wm": 32, "wn": 32, "stages": 6, "blocks": 2},
    {"bm": 32, "bn": 128, "wm": 32, "wn": 32, "stages": 5, "blocks": 2},
    {"bm": 128, "bn": 32, "wm": 32, "wn": 32, "stages": 5, "blocks": 2},
)
LINE = 16  # elements along k of a step, 128 bytes, as in the source
BARRIER_BYTES = 16  # of a buffer's two barriers
PRODUCER_THREADS = 128  # threads of a block that copy
# The model of `plan`, fitted to the times of 160 shapes, drawn at random, on an H200.
MULTIPLY_ADDS_PER_CYCLE = 128  # of a multiprocessor
LINE_CYCLES = 5.5  # cycles of a line of 128 bytes of an operand
UNALIGNED_CYCLES = 2.5  # cycles more of such a line whose elements are copied singly
ELEMENT_CYCLES = 0.5  # cycles of an element of the result
ADD_CYCLES = 27000  # cycles of the launch that adds the sums of split tiles
PARTIAL_CYCLES = 0.38  # cycles of an element of such a sum


class Plan(NamedTuple):
    """How the blocks of a grid share the tiles: the first `split_tiles` are split along k."""

    grid: int
    split_tiles: int
    cost: float


def plan(m, n, k, unaligned, multiprocessors, stream_k, bm, bn, blocks, **others):
    """The Plan of a product for tiles of `bm` x `bn`, with the lowest predicted cost in cycles.

    Either no tile is split, or those that are left over after all blocks have as many, or these and as many tiles as
    blocks, so that fewer blocks share a tile. `unaligned` says of A and of B whether their elements are copied singly.
    """
    tiles, steps = ceil(m / bm) * ceil(n / bn), ceil(k / LINE)
    lines = (bm + bn) * LINE_CYCLES + (bm * unaligned[0] + bn * unaligned[1]) * UNALIGNED_CYCLES
    step = max(bm * bn * LINE / MULTIPLY_ADDS_PER_CYCLE, lines) * blocks

    def make_plan(grid, split_tiles):
        whole = ceil((tiles - split_tiles) / grid)
        steps_of_block = whole * steps + ceil(split_tiles * steps / grid)
        parts = min(2 * grid, split_tiles * steps) if split_tiles else 0
        cost = steps_of_block * step + whole * bm * bn * blocks * ELEMENT_CYCLES
        return Plan(
            grid, split_tiles, cost + bool(parts) * ADD_CYCLES + parts / multiprocessors * bm * bn * PARTIAL_CYCLES
        )

    limit = multiprocessors * blocks
    plans = [make_plan(min(tiles, limit), 0)]
    if stream_k:
        grid = min(limit, tiles * steps)
        left_over = tiles % grid
        plans += [make_plan(grid, count) for count in {left_over, left_over + grid} if 0 < count <= tiles]
    return min(plans, key=lambda plan: plan.cost)


def fastest_tiling(tilings, m, n, k, unaligned, stream_k):
    """The tiling with the lowest predicted cost for a product, and its Plan."""
    multiprocessors = cuda.multiprocessors()
    plans = [(tiling, plan(m, n, k, unaligned, multiprocessors, stream_k, **tiling)) for tiling in tilings]
    return min(plans, key=lambda pair: pair[1].cost)


def geometry(sizes, bm, bn, wm, wn, stages, blocks):
    """Grid of a block per tile, the most there can be; block; and bytes of dynamic shared memory."""
    threads = 32 * (bm // wm) * (bn // wn) + PRODUCER_THREADS
    return (ceil(sizes["m"] / bm) * ceil(sizes["n"] / bn),), (threads,), stages * ((bm + bn) * LINE * 8 + BARRIER_BYTES)


def is_aligned(address, columns):
    """Whether the TMA can copy a matrix: all its rows begin at multiples of 16 bytes."""
    return address % 16 == columns % 2 == 0


def tensor_maps(address, shape, along_k, block):
    """The tensor maps of an operand for tiles of `block` rows (or columns), and its elements per row or 0 if aligned.

    The first map's boxes are whole tiles, those of the second one groups of LINE columns: see the source.
    """
    rows, columns = shape
    dtype, row_bytes = np.dtype("float64"), columns * 8
    if not is_aligned(address, columns):
        return empty_map(), empty_map(), np.int32(columns)
    if along_k:
        tile = tensor_map.encode(address, dtype, (columns, rows), (row_bytes,), (LINE, block))
        return tile, tile, np.int32(0)
    group = tensor_map.encode(address, dtype, (columns, rows), (row_bytes,), (LINE, LINE))
    if columns < LINE:
        return group, group, np.int32(0)
    shape, strides = (LINE, rows, columns // LINE), (row_bytes, LINE * 8)
    return tensor_map.encode(address, dtype, shape, strides, (LINE, LINE, block // LINE)), group, np.int32(0)


def empty_map():
    """A tensor map that no copy uses."""
    return np.zeros(tensor_map.MAP_BYTES, np.uint8).view(f"V{tensor_map.MAP_BYTES}")


def product(form, tilings=TILES, stream_k=True):
    """`multiply(a, b, out, c=None)` of a form; shapes as in `ladder.workloads.gemm`. Raises LadderError on other GPUs.

    All arrays are float64. Calls in the same stream share an array for the sums of split tiles.
    """
    if cuda.architecture() != "sm_90":
        raise LadderError("gemm/cuda_tma requires a GPU of compute capability 9.0: use cuda_mma.")

    @cache
    def partial_sums(stream):
        """A stream's array for the sums of parts of tiles, two per block."""
        tiles = (cuda.multiprocessors() * tiling["blocks"] * tiling["bm"] * tiling["bn"] for tiling in tilings)
        return cuda.empty(2 * max(tiles), "float64")

    @cache
    def best_tiling(m, n, k, unaligned):
        return fastest_tiling(tilings, m, n, k, unaligned, stream_k)

    @lru_cache(maxsize=4096)  # a training has an entry for each batch
    def prepare_launch(a_address, a_shape, b_address, b_shape, m, n, k):
        """The kernels' launches for operands at these addresses, which tensor maps contain."""
        unaligned = not is_aligned(a_address, a_shape[1]), not is_aligned(b_address, b_shape[1])
        tiling, (blocks, split_tiles, _) = best_tiling(m, n, k, unaligned)
        _, (threads,), shared = geometry({"m": m, "n": n}, **tiling)
        multipliers = threads - PRODUCER_THREADS
        names = f"gemm_{form}", "add_parts"
        kernel, add_kernel = (cuda.kernel("gemm", "cuda_tma", name, "float64", **tiling) for name in names)
        kernel.max_dynamic_shared_size_bytes = shared
        *a_maps, a_stride = tensor_maps(a_address, a_shape, form != "tn", tiling["bm"])
        *b_maps, b_stride = tensor_maps(b_address, b_shape, form == "nt", tiling["bn"])
        counts, split, grid = tuple(map(np.int32, (m, n, k))), np.int32(split_tiles), np.int32(blocks)
        adders = split_tiles, tiling["bm"] * tiling["bn"] // (2 * multipliers)

        def run(a, b, c, out, partial):
            arguments = *a_maps, *b_maps, a, b, c, out, *counts, a_stride, b_stride, split, partial
            kernel((blocks,), (threads,), arguments, shared_mem=shared)
            if split_tiles:
                add_kernel(adders, (multipliers,), (c, out, *counts, split, partial, grid))

        return run

    def multiply(a, b, out, c=None):
        k = a.shape[0 if form == "tn" else 1]
        run = prepare_launch(a.data.ptr, a.shape, b.data.ptr, b.shape, *out.shape, k)
        run(a, b, launch.NULL if c is None else c, out, partial_sums(load_cupy().cuda.get_current_stream().ptr))

    return multiply


def setup(
    problem: Problem,
    *,
    stream_k: Literal["off", "on"] = "on",
    bm: int = 0,
    bn: int = 0,
    wm: int = 0,
    wn: int = 0,
    stages: int = 0,
    blocks: int = 0,
) -> Run:
    """The timed product with these tiles, or by default with those of TILES for the shape."""
    tilings = binaries.tiling_or(TILES, bm=bm, bn=bn, wm=wm, wn=wn, stages=stages, blocks=blocks)
    return launch.setup(problem, product(problem.sizes["form"], tilings, stream_k == "on"))
