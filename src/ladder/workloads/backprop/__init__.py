"""Back-propagation: training a network of sigmoid layers on all images at once, with momentum; a run is one epoch.

With the sum-of-squares error E = 1/2 sum (t - o)^2 over patterns and outputs, an epoch computes for every layer the
weight changes dW and the weights W:

    dW <- momentum dW + rate sum over patterns of activation delta^T,   W <- W + dW,

where delta is the derivative of -E with respect to a unit's input, t a target and o an output. Row 0 of W and dW
belongs to the bias, whose activation is 1. `rate` applies to a sum over patterns, so it is about 1 / images. `ranpat`
(random patterns) lists the rows of the patterns, in a different order in every epoch; patterns that it doesn't list are
held out.

Initial weights are uniform in +-scale. Every variant follows the same trajectory: W, dW and the error are compared with
the float64 reference after every epoch. The timed samples repeat the first epoch from the initial weights.

Row-major shapes: of all patterns, the pool, images (pool, 784) scaled to [0, 1] and targets (pool, 10) of zeros and
ones; ranpat int64 (images,); per layer l = 1, 2, ... w<l> and dw<l> (fan_in + 1, fan_out), which a run updates in
place; the output is `error` (1,).
"""

import itertools
from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any

import numpy as np

from ladder.data import sizes as data_sizes
from ladder.harness.contract import Arrays, Kinds, Round, Sizes
from ladder.harness.validation import compare, growing_sum_factor
from ladder.workloads.backprop import reference

RUNGS = {
    "before": "the untuned program: the loop over patterns is innermost in the weight change",
    "loop_order": "the loop over patterns outermost in the weight change",
    "contiguous": "all innermost loops along rows of the weights",
    "temporaries": "loop invariants in variables",
    "fusion": "one loop over patterns up to the deltas",
    "associativity": "factors out of sums: the learning rate and the halving of the error",
    "openmp": "patterns shared among OpenMP threads, several ways to sum over patterns",
    "tuned": "blocks of patterns that fit in the L2 cache, register tiles, fused operations",
    "blas": "matrix products by SciPy's BLAS",
    "cuda_flat": "on the GPU, a thread per unit and pattern, all layers in one flat array",
    "cuda_kernels": "the eleven kernels of the earlier study, with their memory spaces as tunings",
    "cuda": "products by a CUDA variant of gemm, all else fused, an epoch as a CUDA graph",
    "cuda_fused": "three kernels, activations and deltas in shared memory",
    "numpy_loop": "peer: hand-written NumPy",
    "pytorch": "peer: PyTorch on the CPU",
    "pytorch_cuda": "peer: PyTorch on a GPU, eager, as a graph, compiled",
}
SIZES = {
    "layers": "784-56-28-10",
    "images": int,
    "epochs": int,
    "rate": float,
    "momentum": 0.8,
    "scale": 0.1,
    "dtype": ("float32", "float64"),
    "source": ("mnist", "digits"),
    "seed": 1,
}
CURVE = ("epoch", "loss", "reference_loss", "loss_bound", "accuracy")
# Cases in which errors are injected, to see what the checks detect.
SENSITIVITY = [
    (
        "numpy_loop",
        {"threads": 1},
        {"layers": "784-13-10", "images": 130, "epochs": 1, "rate": 0.005, "source": "digits"},
    ),
]
STATEFUL = True


def refuse(sizes: Sizes) -> str | None:
    """The reason why these sizes are invalid, as a sentence, or None."""
    return (
        data_sizes.invalid_layers_reason("backprop", sizes, "784-56-28-10")
        or data_sizes.too_many_images_reason("backprop", sizes)
        or invalid_momentum_reason(sizes)
    )


def invalid_momentum_reason(sizes):
    """The reason why the momentum is invalid, as a sentence, or None."""
    if sizes["momentum"] >= 1:
        return f"momentum={sizes['momentum']} of backprop must be below 1, or weight changes would add up without end."
    return None


def data_set(sizes: Sizes) -> str | None:
    """The data set that the training reads."""
    return sizes["source"]


def reference_sizes(sizes: Sizes) -> Sizes | None:
    """The sizes that the reference depends on: all except the dtype."""
    return {name: value for name, value in sizes.items() if name != "dtype"}


def rounds(sizes: Sizes) -> int:
    """Every epoch is a round."""
    return sizes["epochs"]


def arrays(sizes: Sizes) -> tuple[Kinds, Kinds]:
    """Inputs and outputs as {name: (shape, dtype)}."""
    pool, dtype = sizes["images"] + reference.held_out(sizes["images"]), sizes["dtype"]
    inputs = {
        "images": ((pool, 784), dtype),
        "targets": ((pool, 10), dtype),
        "ranpat": ((sizes["images"],), "int64"),
    }
    for layer, shape in enumerate(reference.shapes(sizes), start=1):
        inputs[f"w{layer}"] = inputs[f"dw{layer}"] = (shape, dtype)
    return inputs, {"error": ((1,), dtype)}


def fill(inputs: Arrays, sizes: Sizes, round: int, data: Any) -> Iterable[str]:
    """Write an epoch's order in place; before the first epoch also the patterns and the initial weights.

    Returns the names of the arrays written: a later epoch continues from the current weights and their changes.
    """
    inputs["ranpat"][...] = reference.ranpat(sizes, round)
    if round:
        return ["ranpat"]
    reference.write_patterns(sizes, data, inputs["images"], inputs["targets"])
    for layer, weights in enumerate(reference.initial_weights(sizes), start=1):
        inputs[f"w{layer}"][...] = weights
        inputs[f"dw{layer}"][...] = 0
    return list(inputs)


def state(sizes: Sizes) -> Iterable[str]:
    """The names of the inputs that an epoch passes on to the next one: weights and their changes."""
    return [f"{name}{layer}" for name in ("w", "dw") for layer in range(1, len(reference.widths(sizes)))]


def cost(sizes: Sizes) -> SimpleNamespace:
    """FLOPs of an epoch's products (three per layer, two in the first), and the bytes that it must move.

    It reads the images, the targets and ranpat once, and reads and writes w and dw.
    """
    widths, itemsize = reference.widths(sizes), np.dtype(sizes["dtype"]).itemsize
    pairs = list(itertools.pairwise(widths))
    products = sum((fan_in + 1) * fan_out * 2 for fan_in, fan_out in pairs)
    products += sum(fan_in * fan_out for fan_in, fan_out in pairs[1:])
    weights = sum(rows * columns for rows, columns in reference.shapes(sizes))
    return SimpleNamespace(
        flops=2 * sizes["images"] * products,
        bytes=sizes["images"] * ((widths[0] + widths[-1]) * itemsize + 8) + 4 * weights * itemsize,
        precision=sizes["dtype"],
    )


def check(sizes: Sizes, inputs: Arrays, outputs: Arrays, round: int, data: Any, exact: Any, precision: str) -> Round:
    """Compare an epoch's error, weights and dw with the reference; returns the checks and a point of the CURVE."""
    checks, weights = [], []
    for layer in range(1, len(reference.widths(sizes))):
        for name in (f"w{layer}", f"dw{layer}"):
            allowed = reference.bound(exact[f"{name}_drift"][round], precision)
            checks.append(compare(name, inputs[name], exact[name][round], allowed))
        weights.append(inputs[f"w{layer}"].astype(np.float64))
    # The simulated noise of a single number may be small by chance: the error is allowed at least its sum's bound.
    terms = growing_sum_factor(sizes["images"] * reference.widths(sizes)[-1], precision)
    allowed = max(reference.bound(exact["error_drift"][round], precision), terms * exact["error"][round])
    checks.append(compare("error", outputs["error"][0], exact["error"][round], allowed))
    point = {
        "epoch": round + 1,
        "loss": float(outputs["error"][0]),
        "reference_loss": float(exact["error"][round]),
        "loss_bound": float(allowed),
        # At most as many test images as training images: the evaluation never takes longer than the training.
        "accuracy": reference.accuracy(weights, *data.test_set(sizes["images"])),
    }
    return checks, point
