"""Peer: a hand-written NumPy version of the training, with products by NumPy's BLAS and no reuse of temporaries.

`ranpat` has the row numbers of the patterns to train on, in random order.
"""

import numpy as np

from ladder.harness.contract import Problem, Run
from ladder.workloads.backprop import reference

DEVICE = "host"
RUNTIME = "blas"
PEER = True


def setup(problem: Problem, *, threads: int) -> Run:
    """The timed epoch."""
    layers = range(1, len(reference.widths(problem.sizes)))
    weights = [getattr(problem, f"w{layer}") for layer in layers]
    changes = [getattr(problem, f"dw{layer}") for layer in layers]
    dtype = weights[0].dtype.type
    rate, momentum = dtype(problem.sizes["rate"]), dtype(problem.sizes["momentum"])

    def epoch():
        x, targets = problem.images[problem.ranpat], problem.targets[problem.ranpat]
        out = [x]
        for w in weights:
            out.append(1 / (1 + np.exp(-(out[-1] @ w[1:] + w[0]))))
        residual = targets - out[-1]
        problem.error[0] = dtype(0.5) * np.sum(residual * residual)
        delta = residual * out[-1] * (1 - out[-1])
        for index in reversed(range(len(weights))):
            delta_below = delta @ weights[index][1:].T * out[index] * (1 - out[index]) if index else None
            changes[index] *= momentum
            changes[index][1:] += rate * (out[index].T @ delta)
            changes[index][0] += rate * delta.sum(axis=0)
            delta = delta_below
        for w, dw in zip(weights, changes, strict=True):
            w += dw

    return epoch
