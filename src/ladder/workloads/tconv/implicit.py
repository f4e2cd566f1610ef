"""What the implicit products share: the packed filter, the grid, and the choice of tiles by shape.

`implicit.cuh` describes the products. `parities` is the number (1, 2 or 4) of neighbouring elements of the result in
one product.
"""

from math import ceil

import numpy as np

from ladder import cuda
from ladder.workloads.tconv import FILTER_SIDE

# The overhead of a block, as a number of terms (a channel of a pixel is one), and the part of the longest block that
# runs alone at the end.
BLOCK_OVERHEAD, TAIL_SHARE = 64, 0.25


def packed_rows(parities):
    """The number of rows of the packed filter."""
    return {1: FILTER_SIDE**2, 2: 3 * FILTER_SIDE, 4: 9}[parities]


def pack(weights, packed, parities):
    """Write a filter (5, 5, k, c) to an array (packed_rows(parities), parities * k, c), as `implicit.cuh` reads it."""
    k = weights.shape[2]
    if parities == 1:
        packed[...] = weights.reshape(packed.shape)
        return
    packed[...] = 0
    for row, column, element in np.ndindex(packed_rows(parities) // 3, 3, parities):
        r, s = row if parities == 2 else element // 2 + 3 - 2 * row, element % 2 + 3 - 2 * column
        if 0 <= r < FILTER_SIDE and 0 <= s < FILTER_SIDE:
            packed[3 * row + column, element * k : (element + 1) * k] = weights[r, s]


def grid(sizes, bm, bn, parities=1):
    """The grid: blocks of `bm` images by `bn` columns, for every group of `parities` neighbouring elements."""
    positions = 4 // parities * sizes["h"] ** 2
    return -(-sizes["k"] * parities // bn) * positions, -(-sizes["images"] // bm)


def fastest_tiling(tilings, sizes, half_rate_rows=8):
    """The tiling with the shortest predicted time; `half_rate_rows` is as for `cost`."""
    if len(tilings) == 1:
        return tilings[0]
    return min(tilings, key=lambda tiling: cost(sizes, cuda.multiprocessors(), half_rate_rows=half_rate_rows, **tiling))


def cost(sizes, multiprocessors, bm, bn, parities=1, bk=32, half_rate_rows=8, **unused):
    """A tiling's predicted time in arbitrary units: its multiply-adds, padding included, per multiprocessor.

    A part of the longest block is added, since the last blocks don't end together. Multiply-adds of small tiles take
    longer, since they use each loaded element less often: twice as long with `half_rate_rows` rows and many columns.
    """
    h, c = sizes["h"], sizes["c"]
    grid_columns, grid_rows = grid(sizes, bm, bn, parities)
    # In one dimension, how many rows of the image contribute, summed over all products: those of one row of the result,
    # and those of two.
    positions, one_parity, both_parities = 4 // parities * h**2, 5 * h - 3, 3 * h - 2
    pixels = {1: one_parity * one_parity, 2: one_parity * both_parities, 4: both_parities * both_parities}[parities]
    block_terms = pixels * ceil(c / bk) * bk / positions + BLOCK_OVERHEAD  # on average
    terms = block_terms * grid_columns * grid_rows / multiprocessors + TAIL_SHARE * min(3, h) ** 2 * c
    return terms * bm * bn * (1 + half_rate_rows / bm + half_rate_rows / bn)
