"""The implicit products on tensor cores whose operands the copy engine brings, of compute capability 9.0.

A block computes the four places around each of 128 pixels, which it reads once for all 25 products that are due there:
a copy brings two rows of pixels of 8 `octets` images, with those around them, and another one a row of the filter, of
`bn` output channels; both are 128 bytes of the channels deep. One thread has the copies done and never waits for a
product; a `cluster` of blocks shares those of the filter. The channels come to the columns of the products in such an
order that each lane has neighbours to write. Bound by the tensor cores, between whose products the writing of a tile
comes, in TF32 a seventh of the time, and with few images by the start of a kernel.

Where a column leaves the image zeros are multiplied, 3 of 20 times in rows of four pixels; a row of the filter whose
pixels all lie outside is left out.
"""

from functools import cache, partial
from math import ceil
from typing import Literal

import numpy as np

from ladder.build import binaries
from ladder.devices import cuda, dependent_launch, tensor_map
from ladder.workloads.tconv import TAPS, implicit_tensor, operands
from ladder.workloads.tconv.layer import Layer

DEVICE = "cuda"
RUNTIME = "cuda"
REQUIRES = ("cupy",)
SOURCE = "cuda_implicit_tma.cu"
LIMITS = {"dtype": ("float32",)}
PRECISION = {"float32": "tf32"}  # unless `math` is another
ACTIVATIONS = ("none", "relu")  # as activation.cuh counts them
OPERANDS = True  # are what a layer reads
OVERLAPS = True
# For rows of eight pixels and more, for rows of four; then for so few tiles that half as large ones end sooner.
TILES = (
    {"octets": 1, "bn": 64, "cluster": 2},
    {"octets": 2, "bn": 64, "cluster": 2},
    {"octets": 1, "bn": 32, "cluster": 2},
    {"octets": 2, "bn": 32, "cluster": 2},
)
# As in the source: bytes of a line, pixels of a warpgroup, rows of a block, its threads; bytes for all buffers.
LINE, PIXELS, ROWS, THREADS, MEMORY = 128, 64, 2, 384, 226 * 1024
BARRIERS, LANES = 16, 4  # bytes for each buffer; lanes that write a row of the result
# Columns whose products take as long as the reading of a tile's pixels from shared memory.
READING = 32


def tiles(sizes, octets, bn, cluster):
    """Tiles of all blocks, those of a cluster together."""
    images, h, k = (sizes[name] for name in ("images", "h", "k"))
    at_once = 8 * octets
    of_pixels = ceil(images / at_once) * ceil(h / (PIXELS // at_once)) * ceil(h / ROWS)
    return ceil(of_pixels / cluster) * ceil(k / bn)


def geometry(sizes, octets, bn, cluster):
    """Grid for a tile in each block, block, and bytes of dynamic shared memory."""
    patch, stage = LINE * 8 * octets * (PIXELS // (8 * octets) + 2) * (ROWS + 2), LINE * TAPS * bn
    stages = (MEMORY - 2 * patch) // stage
    return (
        (tiles(sizes, octets, bn, cluster) * cluster,),
        (THREADS,),
        2 * (patch + BARRIERS) + stages * (stage + BARRIERS),
    )


def fastest(tilings, sizes):
    """Of these tilings the first of those that leave least to the cluster with most tiles."""

    def cost(tiling):
        rounds = ceil(tiles(sizes, **tiling) / (cuda.multiprocessors() // tiling["cluster"]))
        return rounds * (tiling["bn"] + READING)

    return min(tilings, key=cost)


def columns_of(channels, itemsize):
    """The column of the products for each channel, of as many as are whole vectors of 16 bytes for all lanes.

    Lane t has columns 2 t and 2 t + 1 of every eight; those of several eights make its vector.
    """
    vector = 16 // itemsize
    of_lanes = LANES * vector
    channel = np.arange(ceil(channels / of_lanes) * of_lanes)
    lane, within = channel // vector % LANES, channel % vector
    return channel // of_lanes * of_lanes + within // 2 * 8 + lane * 2 + within % 2


def order(given, columns, ordered):
    """Write the channels of a filter (5, 5, k, c) to their columns of an array (25, at least k, c)."""
    ordered[...] = 0
    ordered[:, cuda.load_cupy().asarray(columns)] = given.reshape(TAPS**2, *given.shape[2:])


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
    """The Layer from operands to a `result` of float32 or operands, with tiles that suit as many images as come."""
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
        """A launch for so many images at an address, of which the card is told beforehand."""
        own = sizes | {"images": images}
        tiling = fastest(tilings, own)
        at_once = 8 * tiling["octets"]
        of_image = (width, images, h, h), (h * h * pixel, pixel, h * pixel)
        of_filter = (width, columns.size, TAPS**2), (pixel, columns.size * pixel)
        maps = (
            tensor_map.encode(address, dtype, *of_image, (depth, at_once, PIXELS // at_once + 2, ROWS + 2)),
            tensor_map.encode(packed.data.ptr, dtype, *of_filter, (depth, tiling["bn"], TAPS)),
        )
        kernel = cuda.kernel("tconv", "cuda_implicit_tma", f"{math}_to_{result}", "float32", **tiling)
        (blocks,), block, shared = geometry(own, **tiling)
        grid = (min(blocks, cuda.multiprocessors() // tiling["cluster"] * tiling["cluster"]),)
        kernel.max_dynamic_shared_size_bytes = shared
        counts = [np.int32(count) for count in (images, h, width, k)]
        start = dependent_launch.overlapping(kernel) if overlaps else kernel
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
    """The timed convolution, the conversion of the image where it is due, and the filter's before it."""
    done = layer(problem, math=math, octets=octets, bn=bn, cluster=cluster)
    own = binaries.tiling_or(TILES, octets=octets, bn=bn, cluster=cluster)[0]
    return operands.steps(problem, done, math, operands.writer("cuda_implicit_tma", math, **own))
