"""The implicit products on tensor cores with operands copied by the TMA, for compute capability 9.0.

A block computes the four elements around each of 128 pixels, which it reads once for all 25 taps. One copy loads two
rows of pixels of 8 × `octets` images with their neighbours, another one a row of the filter for `bn` output channels;
both load 128 bytes of channels. One thread, the producer, issues the copies, ahead of the products. A `cluster`
of blocks multicasts the copies of the filter. Channels are permuted among the columns of the products so that each lane
stores neighbouring channels. The tensor cores limit the variant or, for few images, the launch latency. The tensor
cores are idle while a tile is stored, a seventh of the time in TF32.

Pixels outside the image count as zeros. A row of the filter is skipped if all its pixels are outside; columns outside
are multiplied, 3 in 20 in rows of four pixels.
"""

from functools import cache, partial
from math import ceil
from typing import Literal

import numpy as np

from ladder import cuda
from ladder.build import binaries
from ladder.cuda import dependent_launch, tensor_map
from ladder.harness.contract import Problem, Run
from ladder.workloads.tconv import FILTER_SIDE, implicit_tensor, operands
from ladder.workloads.tconv.layer import Layer

DEVICE = "cuda"
RUNTIME = "cuda"
REQUIRES = ("cupy",)
SOURCE = "cuda_implicit_tma.cu"
LIMITS = {"dtype": ("float32",)}
PRECISION = {"float32": "tf32"}  # unless `math` is different
ACTIVATIONS = ("none", "relu")  # by index in activation.cuh
READS_OPERANDS = True  # see `layer.py`
OVERLAPS = True
# For rows of eight pixels and more, and for rows of four; the last two, half as large, end sooner if tiles are few.
TILES = (
    {"octets": 1, "bn": 64, "cluster": 2},
    {"octets": 2, "bn": 64, "cluster": 2},
    {"octets": 1, "bn": 32, "cluster": 2},
    {"octets": 2, "bn": 32, "cluster": 2},
)
# As in the source: bytes of a line, pixels of a warpgroup, rows and threads of a block, and bytes of all buffers.
LINE_BYTES, PIXELS, ROWS, THREADS, BUFFER_BYTES = 128, 64, 2, 384, 226 * 1024
BARRIER_BYTES, LANES_PER_ROW = 16, 4  # of a buffer's barriers; lanes that store a row of the result
# The number of columns whose products take as long as reading a tile's pixels from shared memory.
READ_COLUMNS = 32


def tiles(sizes, octets, bn, cluster):
    """The number of tiles; those that the blocks of a cluster compute at once count as one."""
    images, h, k = (sizes[name] for name in ("images", "h", "k"))
    images_per_tile = 8 * octets
    pixel_tiles = ceil(images / images_per_tile) * ceil(h / (PIXELS // images_per_tile)) * ceil(h / ROWS)
    return ceil(pixel_tiles / cluster) * ceil(k / bn)


def geometry(sizes, octets, bn, cluster):
    """Grid with a tile per block, block, and bytes of dynamic shared memory."""
    patch_bytes = LINE_BYTES * 8 * octets * (PIXELS // (8 * octets) + 2) * (ROWS + 2)
    stage_bytes = LINE_BYTES * FILTER_SIDE * bn
    stages = (BUFFER_BYTES - 2 * patch_bytes) // stage_bytes
    return (
        (tiles(sizes, octets, bn, cluster) * cluster,),
        (THREADS,),
        2 * (patch_bytes + BARRIER_BYTES) + stages * (stage_bytes + BARRIER_BYTES),
    )


def fastest_tiling(tilings, sizes):
    """The first tiling with the shortest predicted time, which is that of the cluster with the most tiles."""

    def cost(tiling):
        rounds = ceil(tiles(sizes, **tiling) / (cuda.multiprocessors() // tiling["cluster"]))
        return rounds * (tiling["bn"] + READ_COLUMNS)

    return min(tilings, key=cost)


def channel_columns(channels, itemsize):
    """The column of the products for each channel; channels are padded to whole vectors of 16 bytes for all lanes.

    Lane t holds columns 2 t and 2 t + 1 of every group of eight; its columns of several groups form one vector.
    """
    vector = 16 // itemsize
    row_channels = LANES_PER_ROW * vector
    channel = np.arange(ceil(channels / row_channels) * row_channels)
    lane, offset = channel // vector % LANES_PER_ROW, channel % vector
    return channel // row_channels * row_channels + offset // 2 * 8 + lane * 2 + offset % 2


def permute(weights, columns, permuted):
    """Write channel j of a filter (5, 5, k, c) to permuted[:, columns[j]], of shape (25, at least k, c), for all j."""
    permuted[...] = 0
    permuted[:, cuda.load_cupy().asarray(columns)] = weights.reshape(FILTER_SIDE**2, *weights.shape[2:])


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
    """The Layer from operands to a `result`, "float32" or "operands", with tiles for the number of images."""
    implicit_tensor.require_warpgroups("cuda_implicit_tma")
    tilings = binaries.tiling_or(TILES, octets=octets, bn=bn, cluster=cluster)
    sizes, bias = problem.sizes, problem.bias
    h, c, k = (sizes[name] for name in ("h", "c", "k"))
    columns = channel_columns(k, np.dtype(operands.TYPES[math] if result == "operands" else result).itemsize)
    permuted = problem.device.empty((FILTER_SIDE**2, columns.size, c), "float32")
    packed = operands.zeros(problem.device, permuted.shape, math)
    prepare = (
        ("pack", partial(permute, problem.filter, columns[:k], permuted)),
        ("pack", partial(operands.writer("cuda_implicit_tma", math, **tilings[0]), permuted, packed)),
    )
    dtype, padded_c = packed.dtype, packed.shape[-1]
    pixel_bytes, depth = padded_c * dtype.itemsize, LINE_BYTES // dtype.itemsize

    @cache
    def launcher(address, images):
        """The launch for `images` images at an address, both of which are encoded in its tensor map."""
        launch_sizes = sizes | {"images": images}
        tiling = fastest_tiling(tilings, launch_sizes)
        images_per_tile = 8 * tiling["octets"]
        image_layout = (padded_c, images, h, h), (h * h * pixel_bytes, pixel_bytes, h * pixel_bytes)
        filter_layout = (padded_c, columns.size, FILTER_SIDE**2), (pixel_bytes, columns.size * pixel_bytes)
        maps = (
            tensor_map.encode(
                address, dtype, *image_layout, (depth, images_per_tile, PIXELS // images_per_tile + 2, ROWS + 2)
            ),
            tensor_map.encode(packed.data.ptr, dtype, *filter_layout, (depth, tiling["bn"], FILTER_SIDE)),
        )
        kernel = cuda.kernel("tconv", "cuda_implicit_tma", f"{math}_to_{result}", "float32", **tiling)
        (blocks,), block, shared = geometry(launch_sizes, **tiling)
        grid = (min(blocks, cuda.multiprocessors() // tiling["cluster"] * tiling["cluster"]),)
        kernel.max_dynamic_shared_size_bytes = shared
        scalars = [np.int32(count) for count in (images, h, padded_c, k)]
        launch_kernel = dependent_launch.launcher(kernel) if overlaps else kernel
        return lambda out, *others: launch_kernel(grid, block, (*maps, bias, out, *scalars, *others), shared_mem=shared)

    def run(image, out):
        launcher(image.data.ptr, len(image))(out, np.int32(out.shape[-1]), np.int32(ACTIVATIONS.index(activation)))

    return Layer(run, prepare, result)


def setup(
    problem: Problem,
    *,
    math: Literal["tf32", "float16", "bfloat16"] = "tf32",
    octets: int = 0,
    bn: int = 0,
    cluster: int = 0,
) -> Run:
    """The timed convolution, with the conversion of the image if necessary; the filter is packed before."""
    convolution = layer(problem, math=math, octets=octets, bn=bn, cluster=cluster)
    tiling = binaries.tiling_or(TILES, octets=octets, bn=bn, cluster=cluster)[0]
    return operands.steps(problem, convolution, math, operands.writer("cuda_implicit_tma", math, **tiling))
