"""Back-propagation with matrix products by SciPy's BLAS, on blocks of patterns.

A block's rows are gathered in the order of `ranpat`, and its activations and deltas stay in the caches until they are
used. The output's deltas include the rate, and the changes of the weights are the addends of their own products.
Bound by the products' FLOPs, and by one pass over the images.
"""

from functools import partial

import numpy as np

from ladder.workloads.backprop import reference
from ladder.workloads.gemm import blas

DEVICE = "host"
RUNTIME = "blas"


def setup(problem, *, threads: int, block: int = 512):
    """The steps of an epoch, block by block, as (phase, function)."""
    return [*begin(problem), *blocks(problem, min(block, len(problem.ranpat))), *end(problem)]


def layers(problem):
    """The indices of the layers that have weights."""
    return range(1, len(reference.widths(problem.sizes)))


def begin(problem):
    """The first step of an epoch: reset the error, and multiply the last steps by the momentum."""
    momentum = problem.error.dtype.type(problem.sizes["momentum"])

    def scale():
        problem.error[0] = 0
        for layer in layers(problem):
            getattr(problem, f"dw{layer}")[...] *= momentum

    yield "weight change", scale


def end(problem):
    """The update of the weights."""

    def update():
        for layer in layers(problem):
            getattr(problem, f"w{layer}")[...] += getattr(problem, f"dw{layer}")

    yield "update", update


def blocks(problem, most):
    """The steps of every block of patterns."""
    widths, dtype = reference.widths(problem.sizes), problem.error.dtype
    make = partial(problem.device.empty, dtype=dtype)
    out, delta = ([make((most, width)) for width in widths] for _ in range(2))
    targets, multiply = make((most, widths[-1])), {form: blas.product(form) for form in ("nn", "tn", "nt")}
    for first in range(0, len(problem.ranpat), most):
        chosen = problem.ranpat[first : first + most]
        count = len(chosen)
        yield from block(
            problem, multiply, chosen, targets[:count], [one[:count] for one in out], [one[:count] for one in delta]
        )


def block(problem, multiply, chosen, targets, out, delta):
    """The steps of one block: gather its rows, forward pass, error, backward pass, changes."""
    last = len(out) - 1
    weights, changes = (
        [None, *(getattr(problem, f"{name}{layer}") for layer in layers(problem))] for name in ("w", "dw")
    )
    rate = problem.error.dtype.type(problem.sizes["rate"])
    # All indices are valid, so the mode "clip" avoids checks and a temporary copy.
    take = partial(np.take, axis=0, mode="clip")
    yield "gather", partial(take, problem.images, chosen, out=out[0])
    yield "gather", partial(take, problem.targets, chosen, out=targets)
    for layer in range(1, last + 1):
        yield "products", partial(forward, multiply["nn"], out[layer - 1], weights[layer], out[layer])
        yield "activations", partial(squash, out[layer])
    yield "error", partial(output_error, problem.error, targets, out[last], delta[last], rate)
    for layer in range(last - 1, 0, -1):
        yield "deltas", partial(multiply["nt"], delta[layer + 1], weights[layer + 1][1:], delta[layer])
        yield "deltas", partial(slope, delta[layer], out[layer], delta[0][:, : out[layer].shape[1]])
    for layer in range(1, last + 1):
        yield "weight change", partial(change, multiply["tn"], out[layer - 1], delta[layer], changes[layer])


def forward(multiply, below, weights, out):
    """out = below W, the bias included."""
    out[...] = weights[0]
    multiply(below, weights[1:], out, out)


def squash(z):
    """The sigmoid, in place."""
    np.negative(z, out=z)
    np.exp(z, out=z)
    z += 1
    np.reciprocal(z, out=z)


def output_error(error, targets, out, delta, rate):
    """Add a block's error, and write its output's deltas times the rate."""
    np.subtract(targets, out, out=delta)
    error[0] += error.dtype.type(0.5) * np.vdot(delta, delta)
    delta *= rate
    delta *= out
    np.subtract(1, out, out=targets)
    delta *= targets


def slope(delta, out, scratch):
    """Deltas times the derivative of the sigmoid, in place."""
    delta *= out
    np.subtract(1, out, out=scratch)
    delta *= scratch


def change(multiply, below, delta, changes):
    """Add the block's gradient to the changes."""
    changes[0] += delta.sum(axis=0)
    multiply(below, delta, changes[1:], changes[1:])
