"""Products by persistent blocks that share the tiles of the result, with operands copied by the TMA.

Tiles rarely divide evenly among the blocks. Those left over are split along k, so that all blocks have as many steps
("stream-K", Osama, Merrill, Cecka, Garland and Owens, PPoPP 2023). A second launch adds the sums of split tiles.
"""

from math import ceil
from typing import NamedTuple

from ladder import cuda
from ladder.cuda import tensor_map

LINE_BYTES = 128  # of an operand's row in a step, as in operand_tiles.cuh
BARRIER_BYTES = 16  # of a buffer's two barriers
PRODUCER_THREADS = 128  # threads of a block that copy


class Model(NamedTuple):
    """What `plan` predicts times from, in cycles of a multiprocessor unless said. Its numbers are fitted to times."""

    multiply_adds_per_cycle: int
    line: float  # of a line of LINE_BYTES of an operand
    element: float  # of an element of the result
    add: float  # of the launch that adds the sums of split tiles
    partial: float  # of an element of such a sum
    unaligned_line: float = 0  # more of a line whose elements are copied singly
    multicast_line: float = 0  # of a line of the second operand, if the blocks of a cluster multicast it
    split_step: float = 0  # more of a step of a split tile, as a share: such tiles have less in common in the L2 cache


class Plan(NamedTuple):
    """How the clusters of a grid share the tiles: the first `split_tiles` are split along k."""

    clusters: int
    split_tiles: int
    cost: float


def plan(model, itemsize, m, n, k, unaligned, multiprocessors, stream_k, bm, bn, blocks=1, cluster=1, **others):
    """The Plan of a product for tiles of `bm` x `bn`, with the lowest predicted cost in cycles.

    Either no tile is split, or those that are left over after all clusters have as many, or these and as many tiles as
    clusters, so that fewer clusters share a tile. A cluster of `cluster` blocks computes as many tiles, one above the
    other, which count as one; `blocks` blocks fit on a multiprocessor. `unaligned` says of both operands whether their
    elements are copied singly.
    """
    line = LINE_BYTES // itemsize
    tiles, steps = ceil(m / (bm * cluster)) * ceil(n / bn), ceil(k / line)
    lines = bm * model.line + bn * (model.line if cluster == 1 else model.multicast_line)
    lines += (bm * unaligned[0] + bn * unaligned[1]) * model.unaligned_line
    step = max(bm * bn * line / model.multiply_adds_per_cycle, lines) * blocks

    def make_plan(clusters, split_tiles):
        whole = ceil((tiles - split_tiles) / clusters)
        steps_of_cluster = whole * steps + ceil(split_tiles * steps / clusters) * (1 + model.split_step)
        parts = min(2 * clusters, split_tiles * steps) * cluster if split_tiles else 0
        cost = steps_of_cluster * step + whole * bm * bn * blocks * model.element
        cost += bool(parts) * model.add + parts / multiprocessors * bm * bn * model.partial
        return Plan(clusters, split_tiles, cost)

    limit = multiprocessors * blocks // cluster
    plans = [make_plan(min(tiles, limit), 0)]
    if stream_k:
        clusters = min(limit, tiles * steps)
        left_over = tiles % clusters
        plans += [make_plan(clusters, count) for count in {left_over, left_over + clusters} if 0 < count <= tiles]
    return min(plans, key=lambda plan: plan.cost)


def fastest_tiling(model, itemsize, tilings, m, n, k, unaligned, stream_k):
    """The tiling with the lowest predicted cost for a product, and its Plan."""
    arguments = model, itemsize, m, n, k, unaligned, cuda.multiprocessors(), stream_k
    plans = [(tiling, plan(*arguments, **tiling)) for tiling in tilings]
    return min(plans, key=lambda pair: pair[1].cost)


def shared_bytes(bm, bn, stages):
    """Bytes of dynamic shared memory of a block: its buffers of tiles, and their barriers."""
    return stages * ((bm + bn) * LINE_BYTES + BARRIER_BYTES)


def partial_sums(tilings, itemsize):
    """An array for the sums of parts of tiles, two per block, with the most that one of the tilings needs."""
    tiles = (cuda.multiprocessors() * tiling.get("blocks", 1) * tiling["bm"] * tiling["bn"] for tiling in tilings)
    return cuda.empty(2 * max(tiles), f"float{8 * itemsize}")


def is_aligned(address, columns, itemsize):
    """Whether the TMA can copy a matrix: all its rows begin at multiples of 16 bytes."""
    return address % 16 == columns * itemsize % 16 == 0


def operand_maps(address, element_type, itemsize, shape, along_k, block, stride=None):
    """The tensor maps of an aligned operand for tiles of `block` rows along k, or else of `block` columns.

    The operand has `stride` elements from row to row, by default as many as its rows have. The first map's boxes are
    whole tiles, those of the second one groups of columns of 128 bytes: see operand_tiles.cuh.
    """
    (rows, columns), line = shape, LINE_BYTES // itemsize
    row_bytes = (stride or columns) * itemsize
    if along_k:
        tile = tensor_map.encode(address, element_type, (columns, rows), (row_bytes,), (line, block))
        return tile, tile
    group = tensor_map.encode(address, element_type, (columns, rows), (row_bytes,), (line, line))
    if columns < line:
        return group, group
    layout = (line, rows, columns // line), (row_bytes, LINE_BYTES)
    return tensor_map.encode(address, element_type, *layout, (line, line, block // line)), group
