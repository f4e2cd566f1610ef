"""What the implicit products share: the packed filter, the grid, and the tiles that suit a shape."""

from math import ceil

import numpy as np

from ladder.devices import cuda
from ladder.workloads.tconv import TAPS

# What a block costs besides its steps along the channels, in such steps.
START = 64


def rows(parities):
    """Rows of the packed filter: its own, or, with all parities in one product, the pixels around one."""
    return TAPS**2 if parities == 1 else 9


def pack(weights, packed, parities):
    """Write a filter (5, 5, k, c) to an array (rows, columns, c) as `implicit.cuh` reads it."""
    k = weights.shape[2]
    if parities == 1:
        packed[...] = weights.reshape(packed.shape)
        return
    packed[...] = 0
    for row, column, y, x in np.ndindex(3, 3, 2, 2):
        r, s = y + 3 - 2 * row, x + 3 - 2 * column
        if 0 <= r < TAPS and 0 <= s < TAPS:
            first = (2 * y + x) * k
            packed[3 * row + column, first : first + k] = weights[r, s]


def grid(sizes, bm, bn, parities=1):
    """Blocks of `bm` images by `bn` columns, for every place of the result."""
    places = 4 // parities * sizes["h"] ** 2
    return -(-sizes["k"] * parities // bn) * places, -(-sizes["images"] // bm)


def fastest(tilings, sizes):
    """Of these tilings the one that should take the least time."""
    if len(tilings) == 1:
        return tilings[0]
    return min(tilings, key=lambda tiling: cost(sizes, cuda.multiprocessors(), **tiling))


def cost(sizes, multiprocessors, bm, bn, parities=1, bk=32, **others):
    """A tiling's time in arbitrary units: its multiply-adds, padding included, by blocks that fill multiprocessors.

    Small tiles take longer for a multiply-add, since each of their elements is used less often.
    """
    h, c = sizes["h"], sizes["c"]
    across, down = grid(sizes, bm, bn, parities)
    blocks, places = across * down, 4 // parities * h**2
    pixels = (5 * h - 3) ** 2 if parities == 1 else (3 * h - 2) ** 2
    steps = (pixels * ceil(c / bk) * bk / places + START) * ceil(blocks / multiprocessors)
    return steps * bm * bn * (1 + 8 / bm + 8 / bn)
