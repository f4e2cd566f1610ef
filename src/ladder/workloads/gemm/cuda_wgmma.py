"""GEMM in TF32 on the tensor cores of compute capability 9.0, by warpgroups and persistent clusters of blocks.

A block computes tiles of `bm` x `bn` sums, a warpgroup 64 rows of them; `blocks` of them fit on a multiprocessor. One
thread copies the operands' tiles to `stages` buffers with the Tensor Memory Accelerator (TMA), which rounds them to
TF32, and runs ahead of the warpgroups, across tiles. The blocks of a `cluster` multicast one operand's tiles to each
other. The clusters share the tiles as in `persistent`, where tiles are split along k unless `stream_k` is off.

Tensor cores require one operand along k in shared memory. Of tn neither lies so: A is transposed before the product.
Operands whose rows aren't a multiple of 16 bytes are copied before it, too. Bound by the tensor cores, or by the GPU's
power limit; products with few terms per sum by bandwidth, and small ones by the latency of the launches.
"""

from functools import cache, lru_cache
from math import ceil
from typing import Literal

import numpy as np

from ladder import cuda
from ladder.build import binaries
from ladder.cuda.gpus import load_cupy
from ladder.errors import LadderError
from ladder.harness.contract import Problem, Run
from ladder.workloads.gemm import launch, persistent

DEVICE = "cuda"
RUNTIME = "cuda"
REQUIRES = ("cupy",)
SOURCE = "cuda_wgmma.cu"
LIMITS = {"dtype": ("float32",)}
PRECISION = {"float32": "tf32"}
TILES = (
    {"bm": 128, "bn": 256, "stages": 4, "cluster": 2, "blocks": 1},
    {"bm": 128, "bn": 128, "stages": 6, "cluster": 2, "blocks": 1},
    {"bm": 128, "bn": 256, "stages": 4, "cluster": 1, "blocks": 1},
    {"bm": 128, "bn": 128, "stages": 6, "cluster": 1, "blocks": 1},
    {"bm": 128, "bn": 64, "stages": 4, "cluster": 1, "blocks": 2},
    {"bm": 64, "bn": 128, "stages": 4, "cluster": 1, "blocks": 2},
    {"bm": 64, "bn": 64, "stages": 6, "cluster": 1, "blocks": 2},
)
# Fitted to the times of 580 shapes, drawn at random, on an H200.
MODEL = persistent.Model(
    multiply_adds_per_cycle=1024,
    line=3.1,
    element=0.17,
    add=6300,
    partial=0.3,
    multicast_line=2.6,
    split_step=0.24,
)
ITEMSIZE = 4
PACK = 32  # rows and columns of a block of the kernel that transposes or pads


def geometry(sizes, bm, bn, stages, cluster, blocks):
    """Grid of a block per tile, the most there can be; block; and bytes of dynamic shared memory."""
    rows, columns = (sizes[name] for name in sums_shape(sizes["form"]))
    tiles = ceil(rows / (bm * cluster)) * ceil(columns / bn)
    threads = 2 * bm + persistent.PRODUCER_THREADS
    return (tiles * cluster,), (threads,), persistent.shared_bytes(bm, bn, stages)


def sums_shape(form):
    """The result's sizes that are the rows and the columns of the sums: of nt those of the result, else transposed."""
    return ("m", "n") if form == "nt" else ("n", "m")


def product(form, tilings=TILES, stream_k=True):
    """`multiply(a, b, out, c=None)` of a form; shapes as in `ladder.workloads.gemm`. Raises LadderError on other GPUs.

    All arrays are float32. Calls in the same stream share the arrays for the sums of split tiles and for copies of
    operands.
    """
    if cuda.architecture() != "sm_90":
        raise LadderError("gemm/cuda_wgmma requires a GPU of compute capability 9.0: use cuda_mma.")
    kernel_form = "nt" if form == "nt" else "nn"
    pack_kernel = cuda.kernel("gemm", "cuda_wgmma", "pack", "float32", **tilings[0])

    @cache
    def partial_sums(stream):
        """A stream's array for the sums of parts of tiles."""
        return persistent.partial_sums(tilings, ITEMSIZE)

    @lru_cache(maxsize=16)
    def packed_array(stream, name, rows, columns):
        """A stream's array for a copy of an operand, with rows of a multiple of 16 bytes."""
        return cuda.empty((rows, ceil(columns / 4) * 4), "float32")

    def pack(array, name, transposed, stream):
        """The operand, or its copy if the TMA can't copy it, transposed if asked for; and its shape."""
        shape = array.shape[::-1] if transposed else array.shape
        if not transposed and persistent.is_aligned(array.data.ptr, shape[1], ITEMSIZE):
            return array, shape
        copy = packed_array(stream, name, *shape)
        grid = (ceil(shape[0] / PACK) * ceil(shape[1] / PACK),)
        scalars = map(np.int32, (*array.shape, copy.shape[1], transposed))
        pack_kernel(grid, (PACK, 8), (array, copy, *scalars), shared_mem=PACK * (PACK + 1) * ITEMSIZE)
        return copy, shape

    @cache
    def best_tiling(rows, columns, k):
        return persistent.fastest_tiling(MODEL, ITEMSIZE, tilings, rows, columns, k, (False, False), stream_k)

    @lru_cache(maxsize=4096)  # a training has an entry for each batch
    def prepare_launch(x_address, x_shape, x_stride, y_address, y_shape, y_stride, rows, columns, k):
        """The kernels' launches for operands at these addresses, which tensor maps contain."""
        tiling, (clusters, split_tiles, _) = best_tiling(rows, columns, k)
        cluster = tiling["cluster"]
        _, (threads,), shared = geometry({"form": "nt", "m": rows, "n": columns}, **tiling)
        multipliers = threads - persistent.PRODUCER_THREADS
        names = f"gemm_{kernel_form}", f"add_{kernel_form}"
        kernel, add_kernel = (cuda.kernel("gemm", "cuda_wgmma", name, "float32", **tiling) for name in names)
        kernel.max_dynamic_shared_size_bytes = shared
        x_maps = persistent.operand_maps(
            x_address, "tf32", ITEMSIZE, x_shape, kernel_form == "nt", tiling["bm"], x_stride
        )
        slice_of_y = tiling["bn"] // cluster  # that a block of a cluster copies
        y_map, _ = persistent.operand_maps(y_address, "tf32", ITEMSIZE, y_shape, True, slice_of_y, y_stride)
        counts, split = tuple(map(np.int32, (rows, columns, k))), np.int32(split_tiles)
        adders = split_tiles * cluster, tiling["bm"] * tiling["bn"] // (2 * multipliers)

        def run(c, out, partial):
            kernel(
                (clusters * cluster,), (threads,), (*x_maps, y_map, c, out, *counts, split, partial), shared_mem=shared
            )
            if split_tiles:
                add_kernel(adders, (multipliers,), (c, out, *counts, split, partial, np.int32(clusters)))

        return run

    def multiply(a, b, out, c=None):
        stream = load_cupy().cuda.get_current_stream().ptr
        (a, a_shape), (b, b_shape) = pack(a, "a", form == "tn", stream), pack(b, "b", False, stream)
        operands = (a.data.ptr, a_shape, a.shape[1]), (b.data.ptr, b_shape, b.shape[1])
        x, y = operands if form == "nt" else operands[::-1]
        sizes = dict(zip("mn", out.shape, strict=True))
        run = prepare_launch(*x, *y, *(sizes[name] for name in sums_shape(form)), a_shape[1])
        run(launch.NULL if c is None else c, out, partial_sums(stream))

    return multiply


def setup(
    problem: Problem,
    *,
    stream_k: Literal["off", "on"] = "on",
    bm: int = 0,
    bn: int = 0,
    stages: int = 0,
    cluster: int = 0,
    blocks: int = 0,
) -> Run:
    """The timed product with these tiles, or by default with those of TILES for the shape."""
    tilings = binaries.tiling_or(TILES, bm=bm, bn=bn, stages=stages, cluster=cluster, blocks=blocks)
    return launch.setup(problem, product(problem.sizes["form"], tilings, stream_k == "on"))
