"""GEMM in float64 on the tensor cores of compute capability 9.0, by persistent blocks.

A block computes tiles of `bm` x `bn` elements of the result, a warp `wm` x `wn` of them; `blocks` blocks fit on a
multiprocessor. One warpgroup copies the operands' tiles to `stages` buffers with the Tensor Memory Accelerator (TMA)
and runs ahead of the warps that multiply, across tiles. The TMA requires rows of a multiple of 16 bytes; the elements
of other operands are copied one by one.

The blocks share the tiles as in `persistent`, where tiles are split along k unless `stream_k` is off. The variant is
bound by the tensor cores; small results by the latency of two launches, the second of which adds the sums of split
tiles.
"""

from functools import cache, lru_cache
from math import ceil
from typing import Literal

import numpy as np

from ladder import cuda
from ladder.build import binaries
from ladder.cuda import tensor_map
from ladder.cuda.gpus import load_cupy
from ladder.errors import LadderError
from ladder.harness.contract import Problem, Run
from ladder.workloads.gemm import launch, persistent

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
# Fitted to the times of 160 shapes, drawn at random, on an H200.
MODEL = persistent.Model(
    multiply_adds_per_cycle=128,
    line_cycles=5.5,
    element_cycles=0.5,
    add_cycles=27000,
    partial_cycles=0.38,
    unaligned_line_cycles=2.5,
)
ITEMSIZE = 8
PRODUCER_THREADS = 128  # a block's warpgroup that copies; only its first thread uses the TMA


def geometry(sizes, bm, bn, wm, wn, stages, blocks):
    """The largest grid, a block per tile; block; and bytes of dynamic shared memory."""
    threads = 32 * (bm // wm) * (bn // wn) + PRODUCER_THREADS
    return (ceil(sizes["m"] / bm) * ceil(sizes["n"] / bn),), (threads,), persistent.shared_bytes(bm, bn, stages)


def tensor_maps(address, shape, along_k, block):
    """An operand's tensor maps (`persistent.operand_maps`), and its elements per row, or 0 if it is aligned."""
    if not persistent.is_aligned(address, shape[1], ITEMSIZE):
        return empty_map(), empty_map(), np.int32(shape[1])
    return *persistent.operand_maps(address, "float64", ITEMSIZE, shape, along_k, block), np.int32(0)


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
        """A stream's array for the sums of parts of tiles."""
        return persistent.partial_sums(tilings, "float64")

    @cache
    def best_tiling(m, n, k, unaligned):
        """The fastest tiling for a shape, and its `persistent.Plan`."""
        return persistent.fastest_tiling(MODEL, ITEMSIZE, tilings, m, n, k, unaligned, stream_k)

    @lru_cache(maxsize=4096)  # a training has an entry for each batch
    def prepare_launch(a_address, a_shape, b_address, b_shape, m, n, k):
        """A function that launches the kernels for operands at these addresses, which tensor maps contain."""
        operands = (a_address, a_shape), (b_address, b_shape)
        unaligned = tuple(not persistent.is_aligned(address, shape[1], ITEMSIZE) for address, shape in operands)
        tiling, (blocks, split_tiles, _) = best_tiling(m, n, k, unaligned)
        _, (threads,), shared = geometry({"m": m, "n": n}, **tiling)
        consumer_threads = threads - PRODUCER_THREADS
        names = f"gemm_{form}", "add_parts"
        kernel, add_kernel = (cuda.kernel("gemm", "cuda_tma", name, "float64", **tiling) for name in names)
        kernel.max_dynamic_shared_size_bytes = shared
        *a_maps, a_stride = tensor_maps(a_address, a_shape, form != "tn", tiling["bm"])
        *b_maps, b_stride = tensor_maps(b_address, b_shape, form == "nt", tiling["bn"])
        counts, split_count, block_count = tuple(map(np.int32, (m, n, k))), np.int32(split_tiles), np.int32(blocks)
        add_grid = split_tiles, tiling["bm"] * tiling["bn"] // (2 * consumer_threads)

        def run(a, b, c, out, partial):
            arguments = *a_maps, *b_maps, a, b, c, out, *counts, a_stride, b_stride, split_count, partial
            kernel((blocks,), (threads,), arguments, shared_mem=shared)
            if split_tiles:
                add_kernel(add_grid, (consumer_threads,), (c, out, *counts, split_count, partial, block_count))

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
