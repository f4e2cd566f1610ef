"""The arrays of a generator's network, in the order of its file, and the sizes of its layers.

A network is one vector of float32 numbers. The axes of a filter are (row, column, output channel, input channel). A
batch norm has arrays beta, gamma, mean and variance, with an element for each channel.
"""

import math

LATENT = 100  # elements of the vector from which an image is drawn
BASE_SIDE = 4  # rows and columns of the projection
FILTER_SIDE = 5  # rows and columns of a filter
COLOURS = 3  # channels of a picture
PICTURE_SIDE = 64  # rows and columns of a picture
EPSILON = 1e-5  # added to variances
CHANNELS = 512  # of the projection, in the earlier study's network


def widths(channels):
    """The channels of every layer, from the projection to the picture."""
    return [channels, channels // 2, channels // 4, channels // 8, COLOURS]


def layers(channels):
    """[(h, c, k), ...] of all transposed convolutions: input rows, input channels and output channels."""
    counts = widths(channels)
    return [(BASE_SIDE << index, *counts[index : index + 2]) for index in range(len(counts) - 1)]


def shapes(channels):
    """The shapes of all arrays by name, in the order of the file."""
    array_shapes = {"proj_w": (LATENT, BASE_SIDE**2 * channels), "proj_b": (BASE_SIDE**2 * channels,)}
    array_shapes |= norm_shapes(0, channels)
    for index, (_, c, k) in enumerate(layers(channels), start=1):
        array_shapes |= {f"tconv{index}_w": (FILTER_SIDE, FILTER_SIDE, k, c), f"tconv{index}_b": (k,)}
        if k != COLOURS:
            array_shapes |= norm_shapes(index, k)
    return array_shapes


def norm_shapes(index, channels):
    """The shapes of a batch norm's arrays by name."""
    return {f"bn{index}_{name}": (channels,) for name in ("beta", "gamma", "mean", "variance")}


def count(channels):
    """The number of elements of a network."""
    return sum(map(math.prod, shapes(channels).values()))


def arrays(network, channels):
    """Writable views of a network's arrays by name."""
    views, start = {}, 0
    for name, shape in shapes(channels).items():
        views[name] = network[start : start + math.prod(shape)].reshape(shape)
        start += math.prod(shape)
    return views
