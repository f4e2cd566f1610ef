"""The generator in float64, written from its definition, optionally with errors where variants round."""

import numpy as np

from ladder.harness.validation import OPERAND_BITS, unit_roundoff
from ladder.workloads.dcgan import layout


class Exact:
    """Only the errors of float64."""

    def operand(self, values):
        """A factor of products, rounded as it is stored."""
        return values

    def total(self, sums, a, b):
        """Sums of products of factors with norms `a` and `b` along the sum."""
        return sums

    def stored(self, values, scale=None):
        """Values computed from numbers of some scale, by default their own."""
        return values


class Noisy(Exact):
    """Random errors of the size of a precision's rounding, with float32 sums."""

    def __init__(self, precision, seed):
        self.of_operands = unit_roundoff(precision if precision in OPERAND_BITS else np.float32)
        self.unit = unit_roundoff(np.float32)
        self.generator = np.random.default_rng(seed)

    def draw(self, shape):
        return 2.0 * self.generator.random(shape, np.float32) - 1.0

    def operand(self, values):
        return values * (1 + self.of_operands * self.draw(values.shape))

    def total(self, sums, a, b):
        """As in `random_sum_factor`: n roundings of partial sums of up to a b / sqrt(n)."""
        return sums + self.unit * a * b * self.draw(sums.shape)

    def stored(self, values, scale=None):
        return values + self.unit * np.abs(values if scale is None else scale) * self.draw(values.shape)


def project(parts, latents, arithmetic):
    """The projection (images, 4, 4, channels) of latents (images, 100), before its batch norm."""
    latents, weights = arithmetic.operand(latents), arithmetic.operand(parts["proj_w"])
    norms = np.linalg.norm(latents, axis=1)[:, None], np.linalg.norm(weights, axis=0)
    found = arithmetic.total(latents @ weights, *norms) + parts["proj_b"]
    return found.reshape(len(latents), layout.FIRST, layout.FIRST, -1)


def normalise(parts, index, values, arithmetic):
    """A batch norm and ReLU; the batch norm may have been folded into the weights."""
    beta, gamma, mean, variance = (parts[f"bn{index}_{name}"] for name in ("beta", "gamma", "mean", "variance"))
    scale = gamma / np.sqrt(variance + layout.EPSILON)
    operands = (np.abs(values) + np.abs(mean)) * np.abs(scale) + np.abs(beta)
    return np.maximum(arithmetic.stored((values - mean) * scale + beta, operands), 0)


def transpose(parts, index, image, arithmetic):
    """The transposed convolution (images, 2 h, 2 h, k) of an image (images, h, h, c), with its bias.

    Each pixel times the whole filter, added to the elements that it affects: pixel p and row r at 2 p + r - 1.
    """
    image, weights = arithmetic.operand(image), arithmetic.operand(parts[f"tconv{index}_w"])
    images, h, _, c = image.shape
    k = weights.shape[2]
    products = (image.reshape(-1, c) @ weights.reshape(-1, c).T).reshape(images, h, h, layout.TAPS, layout.TAPS, k)
    squares = (image**2).sum(axis=-1)[..., None, None, None] * (weights**2).sum(axis=-1).max(axis=(0, 1))
    norms = np.sqrt(add_up(np.broadcast_to(squares, products.shape)))
    return arithmetic.total(add_up(products), norms, 1.0) + parts[f"tconv{index}_b"]


def add_up(products):
    """The results (images, 2 h, 2 h, k) of the products of all pixels and taps (images, h, h, 5, 5, k)."""
    images, h, _, taps, _, k = products.shape
    # A margin holds the elements outside: row and column 1 are the first of the result.
    found = np.zeros((images, 2 * h + 3, 2 * h + 3, k))
    for r, s in np.ndindex(taps, taps):
        found[:, r : r + 2 * h : 2, s : s + 2 * h : 2] += products[:, :, :, r, s]
    return found[:, 1 : 1 + 2 * h, 1 : 1 + 2 * h]


def generate(parts, latents, arithmetic):
    """Pictures (images, 64, 64, 3) in [-1, 1], float64."""
    values = normalise(parts, 0, project(parts, latents, arithmetic), arithmetic)
    for index in (1, 2, 3):
        values = normalise(parts, index, transpose(parts, index, values, arithmetic), arithmetic)
    return arithmetic.stored(np.tanh(transpose(parts, 4, values, arithmetic)), 1.0)
