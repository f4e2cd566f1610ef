"""The reference of the training: mini-batch SGD in plain float64 NumPy, with a bound for the effect of rounding.

A formula bounds the error of a single product, but not that of a training, where every step amplifies earlier errors.
So the training runs twice: without noise, and with noise of the size of float32's rounding in every product and every
updated parameter, where most rounding errors arise. The bound is MARGIN times the distance between the two
trajectories, scaled from float32's unit roundoff to the variant's plus the reference's.
"""

import itertools

import numpy as np

from ladder.harness.validation import unit_roundoff

NOISE = unit_roundoff(np.float32)
# Correct variants stay within half the bound, because the noise of a sum assumes that its terms all have one sign.
MARGIN = 4.0


def layer_sizes(sizes):
    """The widths of the layers, input first: 784-300-10 as [784, 300, 10]."""
    return [int(width) for width in sizes["layers"].split("-")]


def initial_parameters(sizes):
    """Weights (fan_in x fan_out) and biases by layer, float64 values that float32 holds exactly.

    Weights are uniform in +-sqrt(6 / (fan_in + fan_out)) after Glorot and Bengio (2010); for ReLU, their
    variance is doubled, after He et al. (2015). Biases are zero.
    """
    generator = np.random.default_rng([sizes["seed"], 0])
    widths = layer_sizes(sizes)
    parameters = []
    for fan_in, fan_out in itertools.pairwise(widths):
        limit = np.sqrt((12.0 if sizes["activation"] == "relu" else 6.0) / (fan_in + fan_out))
        weights = generator.uniform(-limit, limit, (fan_in, fan_out)).astype(np.float32).astype(np.float64)
        parameters.append((weights, np.zeros(fan_out)))
    return parameters


def order(sizes, epoch):
    """The order in which an epoch visits the images."""
    return np.random.default_rng([sizes["seed"], 1, epoch]).permutation(sizes["images"])


def activate(name, z):
    """Sigmoid or ReLU, elementwise."""
    return np.maximum(z, 0.0) if name == "relu" else 1.0 / (1.0 + np.exp(-z))


def slope(name, a):
    """The activation's derivative, from the activation's value."""
    return (a > 0.0).astype(np.float64) if name == "relu" else a * (1.0 - a)


def forward(parameters, x, activation, product=np.matmul):
    """The activations of all layers, the input first and the logits last."""
    layers = [x]
    for index, (weights, bias) in enumerate(parameters):
        z = product(layers[-1], weights) + bias
        layers.append(z if index == len(parameters) - 1 else activate(activation, z))
    return layers


def cross_entropy(logits, labels):
    """The mean cross-entropy of the softmax, and its derivative with respect to the logits."""
    shifted = logits - logits.max(axis=1, keepdims=True)
    total = np.exp(shifted).sum(axis=1, keepdims=True)
    rows = np.arange(len(labels))
    loss = (np.log(total[:, 0]) - shifted[rows, labels]).mean()
    delta = np.exp(shifted) / total
    delta[rows, labels] -= 1.0
    return loss, delta / len(labels)


def gradients(parameters, x, labels, activation, product=np.matmul):
    """The mean loss of a batch and its gradients by layer, [(with respect to weights, with respect to bias), ...]."""
    layers = forward(parameters, x, activation, product)
    loss, delta = cross_entropy(layers[-1], labels)
    pairs = []
    for index in reversed(range(len(parameters))):
        pairs.append((product(layers[index].T, delta), delta.sum(axis=0)))
        if index:
            delta = product(delta, parameters[index][0].T) * slope(activation, layers[index])
    return loss, pairs[::-1]


def accuracy(parameters, images, labels, activation):
    """The share of test images that are classified correctly."""
    logits = forward(parameters, scale_pixels(images), activation)[-1]
    return float((logits.argmax(axis=1) == labels).mean())


def scale_pixels(images):
    """Images as rows of pixels in [0, 1], float64."""
    return images.reshape(len(images), -1) / 255.0


class Noise:
    """Random errors of the size of float32's rounding, from a fixed seed."""

    def __init__(self):
        self.generator = np.random.default_rng(0)

    def draw(self, shape):
        return NOISE * (2.0 * self.generator.random(shape, np.float32) - 1.0)

    def product(self, a, b):
        """A product whose sums of k terms have errors of sqrt(k) u |a| |b|."""
        scale = np.linalg.norm(a, axis=1)[:, None] * np.linalg.norm(b, axis=0)
        return a @ b + self.draw(scale.shape) * scale * np.sqrt(a.shape[1])

    def update(self, weights):
        """Weights with the error of one more rounding."""
        return weights + self.draw(weights.shape) * weights


def trajectory(sizes, dataset, noise=None):
    """Train: per epoch the loss of every batch (epochs x steps), and the parameters after each epoch."""
    product = noise.product if noise else np.matmul
    images, labels = dataset.train_images[: sizes["images"]], dataset.train_labels[: sizes["images"]]
    parameters = initial_parameters(sizes)
    losses, history = [], []
    for epoch in range(sizes["epochs"]):
        visits = order(sizes, epoch)
        losses.append([])
        for start in range(0, sizes["images"], sizes["batch"]):
            indices = visits[start : start + sizes["batch"]]
            x = scale_pixels(images[indices])
            loss, pairs = gradients(parameters, x, labels[indices], sizes["activation"], product)
            losses[-1].append(loss)
            updates = zip(parameters, pairs, strict=True)
            parameters = [(w - sizes["rate"] * dw, b - sizes["rate"] * db) for (w, b), (dw, db) in updates]
            if noise:
                parameters = [(noise.update(w), noise.update(b)) for w, b in parameters]
        history.append(parameters)
    return np.array(losses), history


def compute(sizes, dataset):
    """The reference and its sensitivity, as named float64 arrays for an .npz file.

    `loss` (epochs x steps); `w1`, `b1`, ... (epochs x shape); `loss_drift` (epochs) and `w1_drift`, ... (epochs): the
    largest distance between the two trajectories up to that epoch.
    """
    losses, parameters = trajectory(sizes, dataset)
    noisy_losses, noisy = trajectory(sizes, dataset, Noise())
    arrays = {"loss": losses, "loss_drift": np.maximum.accumulate(np.abs(losses - noisy_losses).max(axis=1))}
    for layer in range(len(parameters[0])):
        for part, letter in enumerate("wb"):
            exact = np.array([epoch[layer][part] for epoch in parameters])
            perturbed = np.array([epoch[layer][part] for epoch in noisy])
            drift = np.abs(exact - perturbed).reshape(len(exact), -1).max(axis=1)
            arrays[f"{letter}{layer + 1}"] = exact
            arrays[f"{letter}{layer + 1}_drift"] = np.maximum.accumulate(drift)
    return arrays


def bound(drift, precision):
    """The bound for a drift measured with float32's rounding."""
    return MARGIN * drift * (unit_roundoff(precision) + unit_roundoff(np.float64)) / NOISE
