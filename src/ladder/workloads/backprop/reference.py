"""The reference of back-propagation in plain float64 NumPy, and a bound for the effect of rounding on a trajectory.

As in the training of `mlp`, the epochs run twice: without noise, and with noise of the size of float32's rounding
wherever a variant rounds. The bound is MARGIN times the distance between the two trajectories, scaled from float32's
unit roundoff to the variant's plus the reference's.
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
    """A random generator, independent of those with other numbers `stream`; every purpose has its own."""
    return np.random.default_rng([sizes["seed"], *stream])


def positions(sizes):
    """The rows of the patterns in the pool: first those that epochs visit, then those held out."""
    return generator(sizes, 0).permutation(sizes["images"] + held_out(sizes["images"]))


def patterns(sizes, data):
    """The pool: images (pool, 784) in [0, 1] and targets (pool, 10), float64; held-out patterns are test images."""
    pool = sizes["images"] + held_out(sizes["images"])
    images, targets = np.empty((pool, 784)), np.empty((pool, 10))
    write_patterns(sizes, data, images, targets)
    return images, targets


def write_patterns(sizes, data, images, targets):
    """Write the pool to arrays of its shapes, of either dtype, pattern by pattern."""
    count, held_out_count = sizes["images"], held_out(sizes["images"])
    pixels = itertools.chain(data.train_images[:count], data.test_images[:held_out_count])
    labels = np.concatenate([data.train_labels[:count], data.test_labels[:held_out_count]])
    rows = positions(sizes)
    for row, image in zip(rows, pixels, strict=True):
        np.divide(image.ravel(), np.float32(255), out=images[row])
    targets[rows] = np.eye(10)[labels]


def scale_pixels(images):
    """Images as rows of pixels in [0, 1] that float32 holds exactly, float64."""
    return (images.reshape(len(images), -1) / np.float32(255)).astype(np.float64)


def ranpat(sizes, epoch):
    """The rows of the patterns in the pool, in the order in which an epoch visits them, int64."""
    return generator(sizes, 1, epoch).permutation(positions(sizes)[: sizes["images"]])


def initial_weights(sizes):
    """The initial weights by layer, float64 values that float32 holds exactly."""
    draw = generator(sizes, 2).uniform
    return [
        draw(-sizes["scale"], sizes["scale"], shape).astype(np.float32).astype(np.float64) for shape in shapes(sizes)
    ]


def sigmoid(z):
    return 1.0 / (1.0 + np.exp(-z))


def forward(weights, x, noise=None):
    """The activations of all layers for the patterns x (patterns, inputs), which are the first."""
    layers = [x]
    for w in weights:
        z = w[0] + multiply(layers[-1], w[1:], noise)
        layers.append(perturb(sigmoid(z), noise))
    return layers


def gradients(weights, x, targets, noise=None, start=None):
    """(the error E, the derivatives of -E with respect to the weights of every layer) of some patterns.

    With noise, sums over patterns begin with the values `start`, by layer, as in a program that adds to the previous
    epoch's weight changes.
    """
    layers = forward(weights, x, noise)
    residual = targets - layers[-1]
    terms = 0.5 * residual**2
    error = perturb(terms.sum(), noise, residual.size**0.5)
    if noise is not None:
        error += sequential_sum_errors(np.ones((residual.size, 1)), terms.T.reshape(-1, 1), np.zeros((1, 1)))[0, 0]
    delta = perturb(residual * layers[-1] * (1.0 - layers[-1]), noise)
    derivatives = []
    for index in reversed(range(len(weights))):
        ones, below = np.ones((len(x), 1)), layers[index]
        derivatives.append(np.vstack([multiply(matrix.T, delta, noise) for matrix in (ones, below)]))
        if noise is not None:
            # In the first layer, terms with pixels differ enough to round at random; those of the bias don't.
            rows = np.hstack([ones, below]) if index else ones
            derivatives[-1][: rows.shape[1]] += sequential_sum_errors(rows, delta, start[index][: rows.shape[1]])
        if index:
            slope = layers[index] * (1.0 - layers[index])
            delta = perturb(multiply(delta, weights[index][1:].T, noise) * slope, noise)
    return error, derivatives[::-1]


def update(sizes, weights, changes, gradient, noise=None):
    """(weights, changes) after an epoch, from its gradient; `changes` are the last changes of the weights, dw."""
    changes = [
        perturb(sizes["momentum"] * old + sizes["rate"] * new, noise)
        for old, new in zip(changes, gradient, strict=True)
    ]
    return [perturb(w + dw, noise) for w, dw in zip(weights, changes, strict=True)], changes


class Noise:
    """Random errors of the size of float32's rounding, from a fixed seed."""

    def __init__(self):
        self.generator = np.random.default_rng(0)

    def draw(self, shape):
        return NOISE * (2.0 * self.generator.random(shape, np.float32) - 1.0)


def perturb(values, noise, roundings=1.0):
    """Values with the random error of `roundings` roundings, or unchanged without noise."""
    return values if noise is None else values + roundings * noise.draw(np.shape(values)) * values


def multiply(a, b, noise):
    """a @ b; with noise u, its sums of k terms have errors of sqrt(k) u |a| |b|."""
    exact = a @ b
    if noise is None:
        return exact
    scale = np.linalg.norm(a, axis=1)[:, None] * np.linalg.norm(b, axis=0)
    return exact + noise.draw(scale.shape) * scale * np.sqrt(a.shape[1])


def sequential_sum_errors(activations, delta, start):
    """The errors of sequential float32 sums over patterns of activations times deltas, from the initial values `start`.

    Successive terms that are nearly equal, such as those of units that hardly differ yet, round in the same direction.
    """
    errors = np.empty(start.shape)
    for row, (activation, first) in enumerate(zip(activations.T, start, strict=True)):
        terms = np.vstack([first, activation[:, None] * delta])
        errors[row] = np.cumsum(terms, axis=0, dtype=np.float32)[-1] - terms.sum(axis=0)
    return errors


def trajectory(sizes, data, noise=None):
    """Per epoch (error, weights, weight changes), the latter two after the epoch."""
    images, targets = patterns(sizes, data)
    rows = positions(sizes)[: sizes["images"]]
    x, t, weights = images[rows], targets[rows], initial_weights(sizes)
    changes, epochs = [np.zeros_like(w) for w in weights], []
    for _ in range(sizes["epochs"]):
        start = [sizes["momentum"] / sizes["rate"] * dw for dw in changes]
        error, gradient = gradients(weights, x, t, noise, start)
        weights, changes = update(sizes, weights, changes, gradient, noise)
        epochs.append((error, weights, changes))
    return epochs


def compute(sizes, data):
    """The reference and its drift under rounding, as named float64 arrays for an .npz file.

    `error` (epochs), `w1`, `dw1`, ... (epochs x shape), and the largest distance between the two trajectories up to an
    epoch: `error_drift`, `w1_drift`, `dw1_drift`, ... (epochs).
    """
    exact, noisy = trajectory(sizes, data), trajectory(sizes, data, Noise())
    arrays = {"error": np.array([error for error, _, _ in exact])}
    perturbed = {"error": np.array([error for error, _, _ in noisy])}
    for layer in range(len(exact[0][1])):
        for part, name in ((1, f"w{layer + 1}"), (2, f"dw{layer + 1}")):
            arrays[name], perturbed[name] = (
                np.array([epoch[part][layer] for epoch in epochs]) for epochs in (exact, noisy)
            )
    drifts = {name: np.abs(arrays[name] - perturbed[name]).reshape(sizes["epochs"], -1).max(axis=1) for name in arrays}
    return arrays | {f"{name}_drift": np.maximum.accumulate(drift) for name, drift in drifts.items()}


def bound(drift, precision):
    """The error bound in a precision, from the drift under float32's rounding."""
    return MARGIN * drift * (unit_roundoff(precision) + unit_roundoff(np.float64)) / NOISE


def accuracy(weights, images, labels):
    """The share of test images that are classified correctly."""
    return float((forward(weights, scale_pixels(images))[-1].argmax(axis=1) == labels).mean())
