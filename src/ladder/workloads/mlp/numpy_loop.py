"""Peer: a hand-written NumPy version of the training, with products by NumPy's BLAS and no reuse of temporaries."""

import numpy as np

from ladder.harness.contract import Problem, Run

DEVICE = "host"
RUNTIME = "blas"
PEER = True


def setup(problem: Problem, *, threads: int) -> Run:
    """One epoch of mini-batch SGD."""
    sizes, dtype = problem.sizes, np.dtype(problem.sizes["dtype"])
    count = len(sizes["layers"].split("-")) - 1
    weights = [getattr(problem, f"w{layer + 1}") for layer in range(count)]
    biases = [getattr(problem, f"b{layer + 1}") for layer in range(count)]
    x_train = (problem.pixels / 255.0).astype(dtype)
    rate, is_relu = dtype.type(sizes["rate"]), sizes["activation"] == "relu"

    def run():
        for step, start in enumerate(range(0, sizes["images"], sizes["batch"])):
            indices = problem.order[start : start + sizes["batch"]]
            labels, rows = problem.labels[indices], np.arange(len(indices))
            a = [x_train[indices]]
            for layer in range(count):
                z = a[-1] @ weights[layer] + biases[layer]
                if layer < count - 1:
                    z = np.maximum(z, 0) if is_relu else 1 / (1 + np.exp(-z))
                a.append(z)
            logits = a[-1] - a[-1].max(axis=1, keepdims=True)
            exponentials = np.exp(logits)
            denominator = exponentials.sum(axis=1, keepdims=True)
            problem.loss[step] = (np.log(denominator[:, 0]) - logits[rows, labels]).mean()
            delta = exponentials / denominator
            delta[rows, labels] -= 1
            delta /= dtype.type(len(indices))
            for layer in reversed(range(count)):
                weight_gradient, bias_gradient = a[layer].T @ delta, delta.sum(axis=0)
                if layer:
                    slope = a[layer] > 0 if is_relu else a[layer] * (1 - a[layer])
                    delta = (delta @ weights[layer].T) * slope
                weights[layer] -= rate * weight_gradient
                biases[layer] -= rate * bias_gradient

    return run
