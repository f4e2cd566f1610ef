"""The implicit products on tensor cores with operands copied by the TMA, for compute capability 9.0.

A block computes the four elements around each of 128 pixels, which it reads once for all 25 products there: one copy
loads two rows of pixels of 8 `octets` images, with their neighbours, and another one a row of the filter, of `bn`
output channels; both have 128 bytes of channels. One thread, the producer, issues the copies and never waits for a
product; a `cluster` of blocks multicasts those of the filter. Channels are permuted among the columns of the products
so that each lane stores neighbours. Bound by the tensor cores, which are idle while a tile is stored, a seventh of the
time in TF32, and for few images by the launch latency.

Zeros are multiplied where a column is outside the image, 3 of 20 times in rows of four pixels; a row of the filter
whose pixels are all outside is skipped.
"""

from functools import cache, partial
from math import ceil
from typing import Literal

import numpy as np

from ladder import cuda
from ladder.build import binaries
from ladder.cuda import dependent_launch, tensor_map
from ladder.workloads.tconv import TAPS, implicit_tensor, operands
from ladder.workloads.tconv.layer import Layer

DEVICE = "cuda"
RUNTIME = "cuda"
REQUIRES = ("cupy",)
SOURCE = "cuda_implicit_tma.cu"
LIMITS = {"dtype": ("float32",)}
PRECISION = {"float32": "tf32"}  # unless `math` is different
ACTIVATIONS = ("none", "relu")  # by index in activation.cuh
OPERANDS = True  # a layer reads operands
OVERLAPS = True
# For rows of eight pixels and more, for rows of four; then for so few tiles that half as large ones end sooner.
TILES = (
    {"octets": 1, "bn": 64, "cluster": 2},
    {"octets": 2, "bn": 64, "cluster": 2},
    {"octets": 1, "bn": 32, "cluster": 2},
    {"octets": 2, "bn": 32, "cluster": 2},
)
# As in the source: bytes of a line, pixels of a warpgroup, rows of a block, its threads; bytes of all buffers.
LINE, PIXELS, ROWS, THREADS, MEMORY = 128, 64, 2, 384, 226 * 1024
BARRIERS, LANES = 16, 4  # bytes per buffer; lanes that store a row of the result
# The number of columns whose products take as long as reading a tile's pixels from shared memory.
READING = 32


def tiles(sizes, octets, bn, cluster):
    """The number of tiles, counting those of a cluster as one."""
    images, h, k = (sizes[name] for name in ("images", "h", "k"))
    at_once = 8 * octets
    of_pixels = ceil(images / at_once) * ceil(h / (PIXELS // at_once)) * ceil(h / ROWS)
    return ceil(of_pixels / cluster) * ceil(k / bn)


def geometry(sizes, octets, bn, cluster):
    """Grid with a tile per block, block, and bytes of dynamic shared memory."""
    patch, stage = LINE * 8 * octets * (PIXELS // (8 * octets) + 2) * (ROWS + 2), LINE * TAPS * bn
    stages = (MEMORY - 2 * patch) // stage
    return (
        (tiles(sizes, octets, bn, cluster) * cluster,),
        (THREADS,),
        2 * (patch + BARRIERS) + stages * (stage + BARRIERS),
    )


def fastest(tilings, sizes):
    """The first of the tilings with the shortest predicted time of the cluster with the most tiles."""

    def cost(tiling):
        rounds = ceil(tiles(sizes, **tiling) / (cuda.multiprocessors() // tiling["cluster"]))
        return rounds * (tiling["bn"] + READING)

    return min(tilings, key=cost)


def columns_of(channels, itemsize):
    """The column of the products for each channel, for as many channels as give all lanes whole vectors of 16 bytes.

    Lane t has columns 2 t and 2 t + 1 of every eight; those of several groups of eight form its vector.
    """
    vector = 16 // itemsize
    of_lanes = LANES * vector
    channel = np.arange(ceil(channels / of_lanes) * of_lanes)
    lane, within = channel // vector % LANES, channel % vector
    return channel // of_lanes * of_lanes + within // 2 * 8 + lane * 2 + within % 2


def order(weights, columns, ordered):
    """Write the channels of a filter (5, 5, k, c) to their columns of an array (25, columns >= k, c)."""
    ordered[...] = 0
    ordered[:, cuda.load_cupy().asarray(columns)] = weights.reshape(TAPS**2, *weights.shape[2:])


def layer(
    problem,
    *,
    math="tf32",
    activation="none",
    result="float32",
    overlaps=False,
    octets: int = 0,
    bn: int = 0,
    cluster: int = 0,
):
    """The Layer from operands to a `result` of float32 or operands, with tiles for the number of images."""
    implicit_tensor.require_warpgroups("cuda_implicit_tma")
    tilings = binaries.tiling_or(TILES, octets=octets, bn=bn, cluster=cluster)
    sizes, bias = problem.sizes, problem.bias
    h, c, k = (sizes[name] for name in ("h", "c", "k"))
    columns = columns_of(k, np.dtype(operands.TYPES[math] if result == "operands" else result).itemsize)
    ordered = problem.device.empty((TAPS**2, columns.size, c), "float32")
    packed = operands.empty(problem.device, ordered.shape, math)
    prepare = (
        ("pack", partial(order, problem.filter, columns[:k], ordered)),
        ("pack", partial(operands.writer("cuda_implicit_tma", math, **tilings[0]), ordered, packed)),
    )
    dtype, width = packed.dtype, packed.shape[-1]
    pixel, depth = width * dtype.itemsize, LINE // dtype.itemsize

    @cache
    def launch(address, images):
        """A launch for `images` images at an address, which the tensor map contains."""
        launch_sizes = sizes | {"images": images}
        tiling = fastest(tilings, launch_sizes)
        at_once = 8 * tiling["octets"]
        of_image = (width, images, h, h), (h * h * pixel, pixel, h * pixel)
        of_filter = (width, columns.size, TAPS**2), (pixel, columns.size * pixel)
        maps = (
            tensor_map.encode(address, dtype, *of_image, (depth, at_once, PIXELS // at_once + 2, ROWS + 2)),
            tensor_map.encode(packed.data.ptr, dtype, *of_filter, (depth, tiling["bn"], TAPS)),
        )
        kernel = cuda.kernel("tconv", "cuda_implicit_tma", f"{math}_to_{result}", "float32", **tiling)
        (blocks,), block, shared = geometry(launch_sizes, **tiling)
        grid = (min(blocks, cuda.multiprocessors() // tiling["cluster"] * tiling["cluster"]),)
        kernel.max_dynamic_shared_size_bytes = shared
        counts = [np.int32(count) for count in (images, h, width, k)]
        start = dependent_launch.launcher(kernel) if overlaps else kernel
        return lambda out, *more: start(grid, block, (*maps, bias, out, *counts, *more), shared_mem=shared)

    def run(image, out):
        launch(image.data.ptr, len(image))(out, np.int32(out.shape[-1]), np.int32(ACTIVATIONS.index(activation)))

    return Layer(run, prepare, result)


def setup(
    problem,
    *,
    math: Literal["tf32", "float16", "bfloat16"] = "tf32",
    octets: int = 0,
    bn: int = 0,
    cluster: int = 0,
):
    """The timed convolution with the conversion of the image if necessary, and before it that of the filter."""
    done = layer(problem, math=math, octets=octets, bn=bn, cluster=cluster)
    tiling = binaries.tiling_or(TILES, octets=octets, bn=bn, cluster=cluster)[0]
    return operands.steps(problem, done, math, operands.writer("cuda_implicit_tma", math, **tiling))
