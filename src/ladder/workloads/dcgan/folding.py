"""Batch norms with given statistics: a factor and a summand per channel, which can be folded into the weights."""

from ladder.workloads.dcgan import layout


def names(index):
    """The names of a layer's weights and bias: 0 is the projection, 1 to 4 are the transposed convolutions."""
    name = f"tconv{index}" if index else "proj"
    return f"{name}_w", f"{name}_b"


def norm(parts, index):
    """(factor, summand) of each channel for the batch norm after a layer, on either device."""
    beta, gamma, mean, variance = (parts[f"bn{index}_{name}"] for name in ("beta", "gamma", "mean", "variance"))
    scale = gamma / (variance + layout.EPSILON) ** 0.5
    return scale, beta - mean * scale


def fold(parts, folded):
    """Write all weights and biases to arrays of the same names, with the following batch norms folded in."""
    for index in range(5):
        weights, bias = names(index)
        if index == 4:  # no batch norm
            folded[weights][...], folded[bias][...] = parts[weights], parts[bias]
            continue
        scale, shift = norm(parts, index)
        by_channel = (-1, len(scale))
        if index:  # (5, 5, output channel, input channel)
            folded[weights][...] = parts[weights] * scale[:, None]
        else:
            folded[weights].reshape(by_channel)[...] = parts[weights].reshape(by_channel) * scale
        folded[bias].reshape(by_channel)[...] = parts[bias].reshape(by_channel) * scale + shift


def write_norms(parts, norms):
    """Write the factors and summands of all batch norms to arrays (2, channels)."""
    for index, array in enumerate(norms):
        array[0], array[1] = norm(parts, index)
