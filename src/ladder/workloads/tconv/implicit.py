"""What the implicit products share: the packed filter, the grid, and the tiles that suit a shape."""

from math import ceil

import numpy as np

from ladder.devices import cuda
from ladder.workloads.tconv import TAPS

# What a block costs besides its steps along the channels, in such steps, and how much of the longest one ends alone.
START, TAIL = 64, 0.25


def rows(parities):
    """Rows of the packed filter: its own, or, with several parities in one product, pixels around one."""
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
    """Blocks of `bm` images by `bn` columns, for every place of the result."""
    places = 4 // parities * sizes["h"] ** 2
    return -(-sizes["k"] * parities // bn) * places, -(-sizes["images"] // bm)


def fastest(tilings, sizes, reload=8):
    """Of these tilings the one that should take the least time; `reload` is as for `cost`."""
    if len(tilings) == 1:
        return tilings[0]
    return min(tilings, key=lambda tiling: cost(sizes, cuda.multiprocessors(), reload=reload, **tiling))


def cost(sizes, multiprocessors, bm, bn, parities=1, bk=32, reload=8, **others):
    """A tiling's time in arbitrary units: its multiply-adds, padding included, shared among multiprocessors.

    Behind them comes a part of the longest block, since the last ones don't end together. Small tiles take longer for a
    multiply-add, as each of their elements is used less often: twice as long at `reload` rows and many columns.
    """
    h, c = sizes["h"], sizes["c"]
    across, down = grid(sizes, bm, bn, parities)
    places, own, shared = 4 // parities * h**2, 5 * h - 3, 3 * h - 2
    pixels = {1: own * own, 2: own * shared, 4: shared * shared}[parities]
    block = pixels * ceil(c / bk) * bk / places + START
    steps = block * across * down / multiprocessors + TAIL * min(3, h) ** 2 * c
    return steps * bm * bn * (1 + reload / bm + reload / bn)
