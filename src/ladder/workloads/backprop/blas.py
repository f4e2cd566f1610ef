"""Back-propagation with matrix products by SciPy's BLAS, on blocks of patterns.

A block's rows are gathered in the order of `ranpat`, in which an epoch visits the patterns, and its activations and
deltas stay in the caches until they are used. The output's deltas include the rate, so a product adds the block's
gradient directly to dw. The variant is bound by the products' FLOPs, and by one pass over the images.
"""

from functools import partial

import numpy as np

from ladder.harness.contract import Problem, Run
from ladder.workloads.backprop import reference
from ladder.workloads.gemm import blas

DEVICE = "host"
RUNTIME = "blas"


def setup(problem: Problem, *, threads: int, block: int = 512) -> Run:
    """The steps of an epoch, block by block, as (phase, function)."""
    return [*reset(problem), *blocks(problem, min(block, len(problem.ranpat))), *update(problem)]


def layers(problem):
    """The indices of the layers that have weights."""
    return range(1, len(reference.widths(problem.sizes)))


def reset(problem):
    """The first step of an epoch: set the error to 0, and multiply dw by the momentum."""
    momentum = problem.error.dtype.type(problem.sizes["momentum"])

    def scale():
        problem.error[0] = 0
        for layer in layers(problem):
            getattr(problem, f"dw{layer}")[...] *= momentum

    yield "weight change", scale


def update(problem):
    """The last step of an epoch: add dw to the weights."""

    def add():
        for layer in layers(problem):
            getattr(problem, f"w{layer}")[...] += getattr(problem, f"dw{layer}")

    yield "update", add


def blocks(problem, size):
    """The steps of all blocks of `size` patterns; the last one may be smaller."""
    widths, dtype = reference.widths(problem.sizes), problem.error.dtype
    empty = partial(problem.device.empty, dtype=dtype)
    out = [empty((size, width)) for width in widths]
    delta = [empty((size, width)) for width in (max(widths), *widths[1:])]  # inputs have none: the first is scratch
    targets, multiply = empty((size, widths[-1])), {form: blas.product(form) for form in ("nn", "tn", "nt")}
    for first in range(0, len(problem.ranpat), size):
        rows = problem.ranpat[first : first + size]
        count = len(rows)
        yield from block_steps(
            problem,
            multiply,
            rows,
            targets[:count],
            [array[:count] for array in out],
            [array[:count] for array in delta],
        )


def block_steps(problem, multiply, rows, targets, out, delta):
    """The steps of one block: gather its rows, forward pass, error, backward pass, weight changes.

    `rows` are the block's row numbers of ranpat; `out` and `delta` are its activations and deltas by layer.
    """
    last = len(out) - 1
    weights, changes = (
        [None, *(getattr(problem, f"{name}{layer}") for layer in layers(problem))] for name in ("w", "dw")
    )
    rate = problem.error.dtype.type(problem.sizes["rate"])
    # All indices are valid, so the mode "clip" avoids checks and a temporary copy.
    take = partial(np.take, axis=0, mode="clip")
    yield "gather", partial(take, problem.images, rows, out=out[0])
    yield "gather", partial(take, problem.targets, rows, out=targets)
    for layer in range(1, last + 1):
        yield "products", partial(forward, multiply["nn"], out[layer - 1], weights[layer], out[layer])
        yield "activations", partial(sigmoid, out[layer])
    yield "error", partial(output_error, problem.error, targets, out[last], delta[last], rate)
    for layer in range(last - 1, 0, -1):
        yield "deltas", partial(multiply["nt"], delta[layer + 1], weights[layer + 1][1:], delta[layer])
        yield "deltas", partial(apply_slope, delta[layer], out[layer], delta[0][:, : out[layer].shape[1]])
    for layer in range(1, last + 1):
        yield "weight change", partial(add_gradient, multiply["tn"], out[layer - 1], delta[layer], changes[layer])


def forward(multiply, out_below, weights, out):
    """out = out_below W, plus the bias."""
    out[...] = weights[0]
    multiply(out_below, weights[1:], out, out)


def sigmoid(z):
    """z <- sigmoid(z), in place."""
    np.negative(z, out=z)
    np.exp(z, out=z)
    z += 1
    np.reciprocal(z, out=z)


def output_error(error, targets, out, delta, rate):
    """Add a block's error, and store rate times the deltas of its outputs; overwrites targets."""
    np.subtract(targets, out, out=delta)
    error[0] += error.dtype.type(0.5) * np.vdot(delta, delta)
    delta *= rate
    delta *= out
    np.subtract(1, out, out=targets)
    delta *= targets


def apply_slope(delta, out, scratch):
    """Multiply deltas by the derivative of the sigmoid, in place."""
    delta *= out
    np.subtract(1, out, out=scratch)
    delta *= scratch


def add_gradient(multiply, out_below, delta, changes):
    """Add the block's gradient to dw."""
    changes[0] += delta.sum(axis=0)
    multiply(out_below, delta, changes[1:], changes[1:])
