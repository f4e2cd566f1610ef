"""Products by persistent blocks that share the tiles of the result, with operands' tiles copied by the TMA.

Tiles rarely divide evenly among the blocks. Those left over are split along k, so that all blocks have equal work
("stream-K", Osama, Merrill, Cecka, Garland and Owens, PPoPP 2023). A second launch adds the sums of split tiles.
"""

from collections.abc import Callable
from functools import cache, lru_cache, partial
from math import ceil
from typing import NamedTuple

import numpy as np

from ladder import cuda
from ladder.cuda import tensor_map
from ladder.cuda.gpus import load_cupy
from ladder.workloads.gemm.launch import NULL

LINE_BYTES = 128  # of an operand's row in a step, as in operand_tiles.cuh
BARRIER_BYTES = 16  # of a buffer's two barriers


class Model(NamedTuple):
    """The parameters of `plan`'s predictions, in cycles of a multiprocessor unless stated; fitted to measured times."""

    multiply_adds_per_cycle: int
    line_cycles: float  # of a line of LINE_BYTES of an operand
    element_cycles: float  # of an element of the result
    add_cycles: float  # of the launch that adds the sums of split tiles
    partial_cycles: float  # of an element of such a sum
    unaligned_line_cycles: float = 0  # in addition, of a line whose elements are copied one by one
    multicast_line_cycles: float = 0  # of a line of the second operand, if the blocks of a cluster multicast it
    split_step_overhead: float = 0  # relative, of a step of a split tile: such tiles share less in the L2 cache


class Plan(NamedTuple):
    """How the clusters of a grid share the tiles: the first `split_tiles` are split along k."""

    clusters: int
    split_tiles: int
    cost: float  # predicted, in cycles


def plan(model, itemsize, m, n, k, unaligned, multiprocessors, stream_k, bm, bn, blocks=1, cluster=1, **others):
    """The Plan of a product for tiles of `bm` x `bn`, with the lowest predicted cost in cycles.

    Either no tile is split, or the remainder of the tiles by the clusters, or this remainder and one more tile per
    cluster, so that fewer clusters share a tile. The tiles of a cluster's `cluster` blocks, one above the other, count
    as one; `blocks` blocks fit on a multiprocessor. `unaligned` says of each operand whether its elements are copied
    one by one.
    """
    line_elements = LINE_BYTES // itemsize
    tiles, steps = ceil(m / (bm * cluster)) * ceil(n / bn), ceil(k / line_elements)  # steps of a tile
    # Cycles to copy the lines of a step, and for a step of all blocks of a multiprocessor.
    copy_cycles = bm * model.line_cycles + bn * (model.line_cycles if cluster == 1 else model.multicast_line_cycles)
    copy_cycles += (bm * unaligned[0] + bn * unaligned[1]) * model.unaligned_line_cycles
    step_cycles = max(bm * bn * line_elements / model.multiply_adds_per_cycle, copy_cycles) * blocks

    def make_plan(clusters, split_tiles):
        whole_tiles = ceil((tiles - split_tiles) / clusters)  # of a cluster, at most
        cluster_steps = whole_tiles * steps + ceil(split_tiles * steps / clusters) * (1 + model.split_step_overhead)
        # Tiles' parts whose sums blocks leave to the second launch.
        parts = min(2 * clusters, split_tiles * steps) * cluster if split_tiles else 0
        cost = cluster_steps * step_cycles + whole_tiles * bm * bn * blocks * model.element_cycles
        cost += bool(parts) * model.add_cycles + parts / multiprocessors * bm * bn * model.partial_cycles
        return Plan(clusters, split_tiles, cost)

    max_clusters = multiprocessors * blocks // cluster  # clusters that fit on the GPU at once
    plans = [make_plan(min(tiles, max_clusters), 0)]
    if stream_k:
        clusters = min(max_clusters, tiles * steps)
        remainder = tiles % clusters
        plans += [make_plan(clusters, count) for count in {remainder, remainder + clusters} if 0 < count <= tiles]
    return min(plans, key=lambda plan: plan.cost)


def fastest_tiling(model, itemsize, tilings, m, n, k, unaligned, stream_k):
    """The tiling with the lowest predicted cost for a product, and its Plan."""
    arguments = model, itemsize, m, n, k, unaligned, cuda.multiprocessors(), stream_k
    plans = [(tiling, plan(*arguments, **tiling)) for tiling in tilings]
    return min(plans, key=lambda pair: pair[1].cost)


def shared_bytes(bm, bn, stages):
    """Bytes of dynamic shared memory of a block: its buffers of tiles, and their barriers."""
    return stages * ((bm + bn) * LINE_BYTES + BARRIER_BYTES)


def partial_sums(tilings, dtype):
    """An array for the sums of parts of tiles, two per block, large enough for each of the tilings."""
    tiles = (cuda.multiprocessors() * tiling["blocks"] * tiling["bm"] * tiling["bn"] for tiling in tilings)
    return cuda.empty(2 * max(tiles), dtype)


def is_aligned(address, columns, itemsize):
    """Whether the TMA can copy a matrix: all its rows begin at multiples of 16 bytes."""
    return address % 16 == columns * itemsize % 16 == 0


def operand_maps(address, element_type, itemsize, shape, along_k, block, stride=None):
    """The tensor maps of an aligned operand: for tiles of `block` rows if these are along k, else of `block` columns.

    The operand has `stride` elements from row to row, by default as many as its rows have. The first map's boxes are
    whole tiles, those of the second one groups of columns of 128 bytes: see operand_tiles.cuh.
    """
    (rows, columns), line_elements = shape, LINE_BYTES // itemsize
    row_bytes = (stride or columns) * itemsize
    if along_k:
        tile = tensor_map.encode(address, element_type, (columns, rows), (row_bytes,), (line_elements, block))
        return tile, tile
    group = tensor_map.encode(address, element_type, (columns, rows), (row_bytes,), (line_elements, line_elements))
    if columns < line_elements:
        return group, group
    layout = (line_elements, rows, columns // line_elements), (row_bytes, LINE_BYTES)
    return tensor_map.encode(
        address, element_type, *layout, (line_elements, line_elements, block // line_elements)
    ), group


class Layout(NamedTuple):
    """How a kernel expects the operands of a form: the sums (rows, columns) are those of X Y^T.

    X is op(A) and Y op(B)^T, or the other way round if `swapped`; then the sums are the transposed result.
    """

    kernel: str  # the suffix of the kernels' names
    swapped: bool
    x_along_k: bool  # whether X is contiguous along k; else it lies across k, as (k, rows)
    y_along_k: bool
    transposed: tuple[str, ...]  # operands, "a" or "b", that are transposed before the product


class Variant(NamedTuple):
    """A variant whose kernels read packed operands in float32."""

    name: str
    element_type: str  # of tensor maps
    model: Model
    geometry: Callable  # (sizes, **tiling): the grid, the block, and bytes of dynamic shared memory
    producer_threads: int  # threads of a block's warpgroup that copies


PACK = 32  # rows and columns of a block of the kernel `pack`


def packed_product(variant, form, layout, tilings, stream_k):
    """`multiply(a, b, out, c=None)` of a form in float32 by a Variant, whose kernels expect operands in a Layout.

    An operand is packed, copied before the product, if it must be transposed or its rows aren't a multiple of 16 bytes
    (pack.cuh). Calls in the same stream share the arrays for packed operands and for the sums of split tiles.
    """
    itemsize, sides = 4, ("n", "m") if layout.swapped else ("m", "n")  # sides: rows and columns of the sums
    get_kernel = partial(cuda.kernel, "gemm", variant.name, dtype="float32")
    pack_kernel = get_kernel(name="pack", **tilings[0])

    @cache
    def partial_sums_of(stream):
        """A stream's array for the sums of parts of tiles."""
        return partial_sums(tilings, "float32")

    @lru_cache(maxsize=16)
    def packed_array(stream, name, rows, columns):
        """A stream's array for a packed operand, with rows of a multiple of 16 bytes."""
        return cuda.empty((rows, ceil(columns / 4) * 4), "float32")

    def pack(array, name, stream):
        """The address, the shape and the elements per row of an operand, which is packed if necessary."""
        transposed = name in layout.transposed
        shape = array.shape[::-1] if transposed else array.shape
        if not transposed and is_aligned(array.data.ptr, shape[1], itemsize):
            return array.data.ptr, shape, shape[1]
        copy = packed_array(stream, name, *shape)
        grid, scalars = (ceil(shape[0] / PACK) * ceil(shape[1] / PACK),), (*array.shape, copy.shape[1], transposed)
        pack_kernel(grid, (PACK, 8), (array, copy, *map(np.int32, scalars)), shared_mem=PACK * (PACK + 1) * itemsize)
        return copy.data.ptr, shape, copy.shape[1]

    @cache
    def best_tiling(rows, columns, k):
        """The fastest tiling for sums of this shape, and its Plan."""
        return fastest_tiling(variant.model, itemsize, tilings, rows, columns, k, (False, False), stream_k)

    @lru_cache(maxsize=4096)  # a training has an entry for each batch
    def prepare_launch(x, y, rows, columns, k):
        """A function that launches the kernels for operands at these addresses, which tensor maps contain."""
        tiling, (clusters, split_tiles, _) = best_tiling(rows, columns, k)
        cluster = tiling.get("cluster", 1)
        _, (threads,), shared = variant.geometry({"m": rows, "n": columns}, **tiling)
        consumer_threads = threads - variant.producer_threads
        kernel, add_kernel = (get_kernel(name=f"{name}{layout.kernel}", **tiling) for name in ("gemm", "add"))
        kernel.max_dynamic_shared_size_bytes = shared
        maps = []
        for (address, shape, stride), along_k, block in (
            (x, layout.x_along_k, tiling["bm"]),
            (y, layout.y_along_k, tiling["bn"] // cluster),  # a block of a cluster copies a part
        ):
            maps += operand_maps(address, variant.element_type, itemsize, shape, along_k, block, stride)
        counts, split_count = tuple(map(np.int32, (rows, columns, k))), np.int32(split_tiles)
        add_grid = split_tiles * cluster, tiling["bm"] * tiling["bn"] // (2 * consumer_threads)

        def run(c, out, sums):
            kernel((clusters * cluster,), (threads,), (*maps, c, out, *counts, split_count, sums), shared_mem=shared)
            if split_tiles:
                add_kernel(add_grid, (consumer_threads,), (c, out, *counts, split_count, sums, np.int32(clusters)))

        return run

    def multiply(a, b, out, c=None):
        stream, k = load_cupy().cuda.get_current_stream().ptr, a.shape[0 if form == "tn" else 1]
        operands = pack(a, "a", stream), pack(b, "b", stream)
        sizes = dict(zip("mn", out.shape, strict=True))
        x, y = operands[::-1] if layout.swapped else operands
        run = prepare_launch(x, y, *(sizes[side] for side in sides), k)
        run(NULL if c is None else c, out, partial_sums_of(stream))

    return multiply
