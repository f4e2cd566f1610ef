"""What the implicit products share: the packed filter, the grid, and the choice of tiles by shape."""

from math import ceil

import numpy as np

from ladder import cuda
from ladder.workloads.tconv import TAPS

# The overhead of a block, in steps along the channels, and the part of the longest block that runs alone at the end.
START, TAIL = 64, 0.25


def rows(parities):
    """The rows of the packed filter, for products of 1, 2 or 4 neighbouring elements of the result (`parities`)."""
    return {1: TAPS**2, 2: 3 * TAPS, 4: 9}[parities]


def pack(weights, packed, parities):
    """Write a filter (5, 5, k, c) to an array (rows, columns, c) as `implicit.cuh` reads it."""
    k = weights.shape[2]
    if parities == 1:
        packed[...] = weights.reshape(packed.shape)
        return
    packed[...] = 0
    for row, column, place in np.ndindex(rows(parities) // 3, 3, parities):
        r, s = row if parities == 2 else place // 2 + 3 - 2 * row, place % 2 + 3 - 2 * column
        if 0 <= r < TAPS and 0 <= s < TAPS:
            packed[3 * row + column, place * k : (place + 1) * k] = weights[r, s]


def grid(sizes, bm, bn, parities=1):
    """The grid with blocks of `bm` images by `bn` columns, for every element position of the result."""
    places = 4 // parities * sizes["h"] ** 2
    return -(-sizes["k"] * parities // bn) * places, -(-sizes["images"] // bm)


def fastest(tilings, sizes, reload=8):
    """The tiling with the shortest predicted time; `reload` is as for `cost`."""
    if len(tilings) == 1:
        return tilings[0]
    return min(tilings, key=lambda tiling: cost(sizes, cuda.multiprocessors(), reload=reload, **tiling))


def cost(sizes, multiprocessors, bm, bn, parities=1, bk=32, reload=8, **others):
    """A tiling's predicted time in arbitrary units: its multiply-adds, padding included, shared among multiprocessors.

    A part of the longest block is added, since the last blocks don't end together. Multiply-adds of small tiles take
    longer, as each of their elements is used less often: twice as long for `reload` rows and many columns.
    """
    h, c = sizes["h"], sizes["c"]
    across, down = grid(sizes, bm, bn, parities)
    places, single, shared = 4 // parities * h**2, 5 * h - 3, 3 * h - 2
    pixels = {1: single * single, 2: single * shared, 4: shared * shared}[parities]
    block = pixels * ceil(c / bk) * bk / places + START
    steps = block * across * down / multiprocessors + TAIL * min(3, h) ** 2 * c
    return steps * bm * bn * (1 + reload / bm + reload / bn)
