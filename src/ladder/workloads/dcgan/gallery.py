"""A contact sheet of the pictures that a network draws from all latents of the workload's pool."""

import numpy as np

from ladder.workloads.dcgan import exact, layout, network

ROWS, COLUMNS = 4, network.POOL // 4


def sheet(weights, channels=layout.CHANNELS, seed=1):
    """The pictures of a network (count,) in ROWS x COLUMNS tiles, as one image uint8 (ROWS * 64, COLUMNS * 64, 3).

    The first latents form the top row. The reference's code computes the pictures, in float64.
    """
    arrays = layout.arrays(weights.astype(np.float64), channels)
    pictures = exact.generate(arrays, network.latents(seed).astype(np.float64), exact.ExactArithmetic())
    side = layout.PICTURE_SIDE
    tiles = pictures.reshape(ROWS, COLUMNS, side, side, layout.COLOURS).swapaxes(1, 2)
    return ((tiles.reshape(ROWS * side, COLUMNS * side, layout.COLOURS) + 1) / 2 * 255).astype(np.uint8)


def write(path, weights, channels=layout.CHANNELS):
    """Write the sheet of a network (count,) as PNG."""
    from ladder.report.figures.theme import imsave  # imported here, because a training doesn't need it

    imsave(path, sheet(weights, channels), format="png")
