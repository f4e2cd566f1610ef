"""Batch norms with given statistics: each is a scale and a shift per channel, which can be folded into weights."""

from ladder.workloads.dcgan import layout


def parameter_names(index):
    """The names of a layer's weights and bias: 0 is the projection, 1 to 4 are the transposed convolutions."""
    name = f"tconv{index}" if index else "proj"
    return f"{name}_w", f"{name}_b"


def scale_and_shift(arrays, index):
    """A batch norm's scale (channels,) and shift (channels,), arrays on the host or a GPU."""
    beta, gamma, mean, variance = (arrays[f"bn{index}_{name}"] for name in ("beta", "gamma", "mean", "variance"))
    scale = gamma / (variance + layout.EPSILON) ** 0.5
    return scale, beta - mean * scale


def fold(arrays, folded):
    """Fold each batch norm into the layer before it: write all weights and biases to the arrays `folded`, by name."""
    for index in range(5):
        weights, bias = parameter_names(index)
        if index == 4:  # no batch norm follows
            folded[weights][...], folded[bias][...] = arrays[weights], arrays[bias]
            continue
        scale, shift = scale_and_shift(arrays, index)
        by_channel = (-1, len(scale))
        if index:  # a filter (5, 5, output channels, input channels)
            folded[weights][...] = arrays[weights] * scale[:, None]
        else:  # the projection (100, 4 * 4 * channels)
            folded[weights].reshape(by_channel)[...] = arrays[weights].reshape(by_channel) * scale
        folded[bias].reshape(by_channel)[...] = arrays[bias].reshape(by_channel) * scale + shift


def write_norms(arrays, norms):
    """Write the scale and shift of all batch norms to arrays (2, channels)."""
    for index, array in enumerate(norms):
        array[0], array[1] = scale_and_shift(arrays, index)
