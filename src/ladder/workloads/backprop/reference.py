"""The reference of back-propagation in plain float64 NumPy, and a bound for the effect of rounding on a trajectory.

As in the training of `mlp`, the epochs run twice, without and with noise of the size of float32's rounding wherever a
variant rounds; the bound is MARGIN times the distance of the two trajectories, scaled to the variant's precision.
"""

import itertools

import numpy as np

from ladder.harness.validation import unit_roundoff

NOISE = unit_roundoff(np.float32)
# Correct variants stay within half the bound.
MARGIN = 4.0


def widths(sizes):
    """The widths of the layers, input first: 784-56-28-10 as [784, 56, 28, 10]."""
    return [int(width) for width in sizes["layers"].split("-")]


def shapes(sizes):
    """The shapes of the weights, with a row for the bias in front of those of the layer below."""
    return [(fan_in + 1, fan_out) for fan_in, fan_out in itertools.pairwise(widths(sizes))]


def held_out(images):
    """The number of patterns of the pool that no epoch visits."""
    return images // 8 + 1


def generator(sizes, *stream):
    """An independent random generator for each purpose."""
    return np.random.default_rng([sizes["seed"], *stream])


def places(sizes):
    """The positions of the patterns in the pool: first those that epochs visit, then those held out."""
    return generator(sizes, 0).permutation(sizes["images"] + held_out(sizes["images"]))


def patterns(sizes, data):
    """The pool: images (pool, 784) in [0, 1] and targets (pool, 10), float64; held-out patterns are test images."""
    pool = sizes["images"] + held_out(sizes["images"])
    images, targets = np.empty((pool, 784)), np.empty((pool, 10))
    write_patterns(sizes, data, images, targets)
    return images, targets


def write_patterns(sizes, data, images, targets):
    """Write the pool into arrays of its shapes, of either dtype, pattern by pattern."""
    count, spare = sizes["images"], held_out(sizes["images"])
    pixels = itertools.chain(data.train_images[:count], data.test_images[:spare])
    labels = np.concatenate([data.train_labels[:count], data.test_labels[:spare]])
    where = places(sizes)
    for place, image in zip(where, pixels, strict=True):
        np.divide(image.ravel(), np.float32(255), out=images[place])
    targets[where] = np.eye(10)[labels]


def scaled(images):
    """Images as rows of pixels in [0, 1] that float32 holds exactly, float64."""
    return (images.reshape(len(images), -1) / np.float32(255)).astype(np.float64)


def ranpat(sizes, epoch):
    """The positions of the patterns in the order in which an epoch visits them, int64."""
    return generator(sizes, 1, epoch).permutation(places(sizes)[: sizes["images"]])


def initial(sizes):
    """The initial weights by layer, float64 values that float32 holds exactly."""
    draw = generator(sizes, 2).uniform
    return [
        draw(-sizes["scale"], sizes["scale"], shape).astype(np.float32).astype(np.float64) for shape in shapes(sizes)
    ]


def sigmoid(z):
    return 1.0 / (1.0 + np.exp(-z))


def forward(weights, x, noise=None):
    """The activations of all layers, the input first."""
    layers = [x]
    for each in weights:
        z = each[0] + product(layers[-1], each[1:], noise)
        layers.append(rounded(sigmoid(z), noise))
    return layers


def gradients(weights, x, targets, noise=None, begin=None):
    """(E, the derivatives of -E with respect to the weights of every layer) of some patterns.

    With noise, sums over patterns begin with `begin`, by layer, as in a program that adds to the last steps.
    """
    layers = forward(weights, x, noise)
    off = targets - layers[-1]
    terms = 0.5 * off**2
    error = rounded(terms.sum(), noise, off.size**0.5)
    if noise is not None:
        error += errors_in_order(np.ones((off.size, 1)), terms.T.reshape(-1, 1), np.zeros((1, 1)))[0, 0]
    delta = rounded(off * layers[-1] * (1.0 - layers[-1]), noise)
    found = []
    for index in reversed(range(len(weights))):
        ones, below = np.ones((len(x), 1)), layers[index]
        found.append(np.vstack([product(each.T, delta, noise) for each in (ones, below)]))
        if noise is not None:
            # Pixels differ enough for their sums to round at random.
            rows = np.hstack([ones, below]) if index else ones
            found[-1][: rows.shape[1]] += errors_in_order(rows, delta, begin[index][: rows.shape[1]])
        if index:
            slope = layers[index] * (1.0 - layers[index])
            delta = rounded(product(delta, weights[index][1:].T, noise) * slope, noise)
    return error, found[::-1]


def step(sizes, weights, steps, gradient, noise=None):
    """(weights, steps) after an epoch."""
    steps = [
        rounded(sizes["momentum"] * old + sizes["rate"] * new, noise) for old, new in zip(steps, gradient, strict=True)
    ]
    return [rounded(each + change, noise) for each, change in zip(weights, steps, strict=True)], steps


class Noise:
    """Random errors of the size of float32's rounding, from a fixed seed."""

    def __init__(self):
        self.generator = np.random.default_rng(0)

    def draw(self, shape):
        return NOISE * (2.0 * self.generator.random(shape, np.float32) - 1.0)


def rounded(values, noise, roundings=1.0):
    """Values with the error of `roundings` roundings, if there is noise."""
    return values if noise is None else values + roundings * noise.draw(np.shape(values)) * values


def product(a, b, noise):
    """A product of matrices; with noise, its sums of k terms have errors of sqrt(k) u |a| |b|."""
    exact = a @ b
    if noise is None:
        return exact
    scale = np.linalg.norm(a, axis=1)[:, None] * np.linalg.norm(b, axis=0)
    return exact + noise.draw(scale.shape) * scale * np.sqrt(a.shape[1])


def errors_in_order(activations, delta, begin):
    """The errors of sequential float32 sums over patterns of activations times deltas, from the initial values `begin`.

    Nearly equal terms, such as those of units that hardly differ yet, round in the same direction one after the other.
    """
    found = np.empty(begin.shape)
    for row, (each, first) in enumerate(zip(activations.T, begin, strict=True)):
        terms = np.vstack([first, each[:, None] * delta])
        found[row] = np.cumsum(terms, axis=0, dtype=np.float32)[-1] - terms.sum(axis=0)
    return found


def trajectory(sizes, data, noise=None):
    """Per epoch the error, the weights and the steps after it."""
    images, targets = patterns(sizes, data)
    visited = places(sizes)[: sizes["images"]]
    x, t, weights = images[visited], targets[visited], initial(sizes)
    steps, found = [np.zeros_like(each) for each in weights], []
    for _ in range(sizes["epochs"]):
        begin = [sizes["momentum"] / sizes["rate"] * each for each in steps]
        error, gradient = gradients(weights, x, t, noise, begin)
        weights, steps = step(sizes, weights, steps, gradient, noise)
        found.append((error, weights, steps))
    return found


def compute(sizes, data):
    """The reference and its sensitivity, as named float64 arrays for an .npz file.

    `error` (epochs), `w1`, `dw1`, ... (epochs x shape), and the largest distance between the two trajectories up to an
    epoch: `error_drift`, `w1_drift`, `dw1_drift`, ... (epochs).
    """
    exact, shaken = trajectory(sizes, data), trajectory(sizes, data, Noise())
    found = {"error": np.array([error for error, _, _ in exact])}
    moved = {"error": np.array([error for error, _, _ in shaken])}
    for layer in range(len(exact[0][1])):
        for part, name in ((1, f"w{layer + 1}"), (2, f"dw{layer + 1}")):
            found[name], moved[name] = (np.array([epoch[part][layer] for epoch in one]) for one in (exact, shaken))
    drifts = {name: np.abs(found[name] - moved[name]).reshape(sizes["epochs"], -1).max(axis=1) for name in found}
    return found | {f"{name}_drift": np.maximum.accumulate(drift) for name, drift in drifts.items()}


def bound(drift, precision):
    """The bound for a drift measured with float32's rounding."""
    return MARGIN * drift * (unit_roundoff(precision) + unit_roundoff(np.float64)) / NOISE


def accuracy(weights, images, labels):
    """The share of test images that are classified correctly."""
    return float((forward(weights, scaled(images))[-1].argmax(axis=1) == labels).mean())
