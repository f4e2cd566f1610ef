"""The generator in float64, written from its definition, optionally with random errors where variants round."""

import numpy as np

from ladder.harness.validation import OPERAND_BITS, unit_roundoff
from ladder.workloads.dcgan import layout


class ExactArithmetic:
    """Arithmetic with no more errors than those of float64."""

    def round_operand(self, values):
        """Factors of products, as a variant stores them."""
        return values

    def round_sum(self, sums, a, b):
        """Sums of products, as a variant adds them up; `a` and `b` are the norms of the factors along the sum."""
        return sums

    def round_result(self, values, scale=None):
        """Values, as a variant computes them from numbers of magnitude `scale`, by default that of the values."""
        return values


class NoisyArithmetic(ExactArithmetic):
    """Arithmetic with random errors: of a precision's rounding in operands, of float32's in sums and results."""

    def __init__(self, precision, seed):
        self.operand_roundoff = unit_roundoff(precision if precision in OPERAND_BITS else np.float32)
        self.float32_roundoff = unit_roundoff(np.float32)
        self.generator = np.random.default_rng(seed)

    def draw(self, shape):
        """Uniform random numbers in [-1, 1)."""
        return 2.0 * self.generator.random(shape, np.float32) - 1.0

    def round_operand(self, values):
        return values * (1 + self.operand_roundoff * self.draw(values.shape))

    def round_sum(self, sums, a, b):
        """Random rounding errors of n partial sums, each up to a b / sqrt(n), add up to about a b."""
        return sums + self.float32_roundoff * a * b * self.draw(sums.shape)

    def round_result(self, values, scale=None):
        return values + self.float32_roundoff * np.abs(values if scale is None else scale) * self.draw(values.shape)


def project(arrays, latents, arithmetic):
    """The projection (images, 4, 4, channels) of latents (images, 100), before its batch norm."""
    latents, weights = arithmetic.round_operand(latents), arithmetic.round_operand(arrays["proj_w"])
    norms = np.linalg.norm(latents, axis=1)[:, None], np.linalg.norm(weights, axis=0)
    values = arithmetic.round_sum(latents @ weights, *norms) + arrays["proj_b"]
    return values.reshape(len(latents), layout.BASE_SIDE, layout.BASE_SIDE, -1)


def normalise(arrays, index, values, arithmetic):
    """A batch norm and ReLU, with an error that also covers variants that fold the batch norm into weights."""
    beta, gamma, mean, variance = (arrays[f"bn{index}_{name}"] for name in ("beta", "gamma", "mean", "variance"))
    scale = gamma / np.sqrt(variance + layout.EPSILON)
    scale_of_terms = (np.abs(values) + np.abs(mean)) * np.abs(scale) + np.abs(beta)
    return np.maximum(arithmetic.round_result((values - mean) * scale + beta, scale_of_terms), 0)


def transposed_convolution(arrays, index, image, arithmetic):
    """The transposed convolution (images, 2 h, 2 h, k) of an image (images, h, h, c), with its bias.

    Each pixel is multiplied by the whole filter. Along each axis, the product of pixel p and tap r is added to element
    2 p + r - 1 of the result.
    """
    image, weights = arithmetic.round_operand(image), arithmetic.round_operand(arrays[f"tconv{index}_w"])
    images, h, _, c = image.shape
    k = weights.shape[2]
    products = (image.reshape(-1, c) @ weights.reshape(-1, c).T).reshape(
        images, h, h, layout.FILTER_SIDE, layout.FILTER_SIDE, k
    )
    squares = (image**2).sum(axis=-1)[..., None, None, None] * (weights**2).sum(axis=-1).max(axis=(0, 1))
    norms = np.sqrt(col2im(np.broadcast_to(squares, products.shape)))
    return arithmetic.round_sum(col2im(products), norms, 1.0) + arrays[f"tconv{index}_b"]


def col2im(products):
    """The sums (images, 2 h, 2 h, k) of the products (images, h, h, 5, 5, k) of all pixels and taps."""
    images, h, _, filter_side, _, k = products.shape
    # The result starts at row and column 1. The margin around it takes the products that fall outside.
    padded = np.zeros((images, 2 * h + 3, 2 * h + 3, k))
    for r, s in np.ndindex(filter_side, filter_side):
        padded[:, r : r + 2 * h : 2, s : s + 2 * h : 2] += products[:, :, :, r, s]
    return padded[:, 1 : 1 + 2 * h, 1 : 1 + 2 * h]


def generate(arrays, latents, arithmetic):
    """Pictures (images, 64, 64, 3) in [-1, 1], float64."""
    values = normalise(arrays, 0, project(arrays, latents, arithmetic), arithmetic)
    for index in (1, 2, 3):
        values = normalise(arrays, index, transposed_convolution(arrays, index, values, arithmetic), arithmetic)
    return arithmetic.round_result(np.tanh(transposed_convolution(arrays, 4, values, arithmetic)), 1.0)
