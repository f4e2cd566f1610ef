"""The operations of the training other than its products.

Threads share the rows, except in `softmax_loss` and `update_bias`, which run on one thread. Most operations are one
pass over their arrays and memory-bound (here mostly by the L2 cache). `softmax_loss` passes over each row three times;
the sigmoid is bound by the polynomial of its exponential and by its division.
"""

import numba
import numpy as np

from ladder.workloads.mlp.exponential import exponential

ORDERED_OPTIONS = {"cache": True, "error_model": "numpy", "fastmath": {"contract", "nsz"}}  # no reordering of sums
OPTIONS = ORDERED_OPTIONS | {"fastmath": {"contract", "reassoc", "nsz"}}


@numba.njit(parallel=True, **ORDERED_OPTIONS)
def gather(pixels, order, start, x):
    """x <- rows `order[start:start + len(x)]` of the uint8 pixels, divided by 255.

    Multiplies by 1 / 255 and corrects the result: by a fused multiply-add, this is the correctly rounded quotient.
    """
    scale = x.dtype.type(255)
    inverse = x.dtype.type(1) / scale
    for i in numba.prange(x.shape[0]):
        row = order[start + i]
        for j in range(x.shape[1]):
            pixel = x.dtype.type(pixels[row, j])
            quotient = pixel * inverse
            x[i, j] = quotient + (pixel - quotient * scale) * inverse


@numba.njit(parallel=True, **ORDERED_OPTIONS)
def sigmoid(z, bias):
    """z <- sigmoid(z + bias) in place."""
    unity = z.dtype.type(1)
    for i in numba.prange(z.shape[0]):
        for j in range(z.shape[1]):
            z[i, j] = unity / (unity + exponential(-(z[i, j] + bias[j])))


@numba.njit(parallel=True, **OPTIONS)
def relu(z, bias):
    """z <- max(z + bias, 0) in place."""
    for i in numba.prange(z.shape[0]):
        for j in range(z.shape[1]):
            z[i, j] = max(z[i, j] + bias[j], z.dtype.type(0))


@numba.njit(parallel=True, **OPTIONS)
def sigmoid_slope(delta, a):
    """delta <- delta * a (1 - a) in place, the Hadamard product with the sigmoid's derivative."""
    unity = a.dtype.type(1)
    for i in numba.prange(a.shape[0]):
        for j in range(a.shape[1]):
            delta[i, j] *= a[i, j] * (unity - a[i, j])


@numba.njit(parallel=True, **OPTIONS)
def relu_slope(delta, a):
    """delta <- delta where a > 0, else 0, in place."""
    for i in numba.prange(a.shape[0]):
        for j in range(a.shape[1]):
            if a[i, j] <= 0:
                delta[i, j] = 0


@numba.njit(**OPTIONS)
def softmax_loss(z, bias, labels, order, start, loss, step):
    """z <- gradient of the mean cross-entropy with respect to the logits z + bias, in place; loss[step] <- the mean."""
    rows, columns = z.shape
    total = 0.0
    for i in range(rows):
        label = labels[order[start + i]]
        max_logit = z[i, 0] + bias[0]
        for j in range(columns):
            z[i, j] += bias[j]
            max_logit = max(max_logit, z[i, j])
        label_logit = z[i, label] - max_logit
        denominator = 0.0
        for j in range(columns):
            z[i, j] = np.exp(z[i, j] - max_logit)
            denominator += z[i, j]
        total += np.log(denominator) - label_logit
        for j in range(columns):
            z[i, j] /= denominator * rows
        z[i, label] -= z.dtype.type(1.0 / rows)
    loss[step] = total / rows


@numba.njit(**OPTIONS)
def update_bias(bias, delta, rate, gradient):
    """bias <- bias - rate * column sums of delta; `gradient` is work space of the bias's shape."""
    gradient[:] = 0
    for i in range(delta.shape[0]):
        for j in range(delta.shape[1]):
            gradient[j] += delta[i, j]
    for j in range(bias.shape[0]):
        bias[j] -= rate * gradient[j]


@numba.njit(parallel=True, **OPTIONS)
def update_weights(weights, gradient, rate):
    """weights <- weights - rate * gradient, in place."""
    for i in numba.prange(weights.shape[0]):
        for j in range(weights.shape[1]):
            weights[i, j] -= rate * gradient[i, j]
