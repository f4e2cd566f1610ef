"""The arrays of a generator's network, in the order of its file, and the sizes of its layers.

A network is one vector of float32 numbers. A filter's axes are (row, column, output channel, input channel); a batch
norm has beta, gamma, mean and variance of each channel.
"""

import math

LATENT = 100  # numbers from which an image is drawn
FIRST = 4  # rows and columns of the projection
TAPS = 5  # rows and columns of a filter
COLOURS = 3
SIDE = 64  # rows and columns of a picture
EPSILON = 1e-5  # added to variances
FULL = 512  # channels of the earlier study's network


def widths(channels):
    """The channels of every layer, from the projection to the picture."""
    return [channels, channels // 2, channels // 4, channels // 8, COLOURS]


def layers(channels):
    """The rows and channels of the input and the output channels of every transposed convolution, [(h, c, k), ...]."""
    found = widths(channels)
    return [(FIRST << index, *found[index : index + 2]) for index in range(len(found) - 1)]


def shapes(channels):
    """The shapes of all arrays by name, in the order of the file."""
    found = {"proj_w": (LATENT, FIRST * FIRST * channels), "proj_b": (FIRST * FIRST * channels,)}
    found |= norm(0, channels)
    for index, (_, c, k) in enumerate(layers(channels), start=1):
        found |= {f"tconv{index}_w": (TAPS, TAPS, k, c), f"tconv{index}_b": (k,)}
        if k != COLOURS:
            found |= norm(index, k)
    return found


def norm(index, channels):
    """The arrays of a batch norm."""
    return {f"bn{index}_{name}": (channels,) for name in ("beta", "gamma", "mean", "variance")}


def count(channels):
    """The number of elements of a network."""
    return sum(map(math.prod, shapes(channels).values()))


def parts(network, channels):
    """Writable views of a network's arrays by name."""
    found, start = {}, 0
    for name, shape in shapes(channels).items():
        found[name] = network[start : start + math.prod(shape)].reshape(shape)
        start += math.prod(shape)
    return found
