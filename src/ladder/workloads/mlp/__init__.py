"""MLP: training a fully connected network on MNIST by mini-batch SGD; one run of a variant is one epoch.

Softmax cross-entropy, sigmoid or ReLU in the hidden layers, inputs scaled to [0, 1]. The seed determines the initial
weights and the order of the images, so every variant follows the same trajectory: the loss of every batch and the
weights after every epoch are compared with the float64 reference. The timed samples repeat the first epoch from the
initial weights.

Row-major shapes: pixels uint8 (images, 784), labels int64 (images,), order int64 (images,), per layer l = 1, 2, ...
w<l> (fan_in, fan_out) and b<l> (fan_out,) in the case's dtype, which a run updates in place; the output is `loss`,
the mean loss of every batch (steps,).
"""

import itertools
from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any

import numpy as np

from ladder.data import sizes as data_sizes
from ladder.harness.contract import Arrays, Kinds, Round, Sizes
from ladder.harness.validation import Check, compare
from ladder.workloads.mlp import reference

RUNGS = {
    "host": "on the CPU, products by any host variant of `gemm`, the rest fused and on the same threads",
    "cuda": "on a GPU, products by a CUDA variant of `gemm`, an epoch as one CUDA graph",
    "cuda_fused": "on a GPU, all elementwise operations in products: 3 kernels per batch with one hidden layer",
    "cuda_fused_mma": "on a GPU, the same with products of images on tensor cores, in full precision",
    "cuda_persistent": "on a GPU, an epoch as one cooperative launch with the weights on the chip",
    "cuda_copies": "on a GPU, with images and weights in host memory: every batch copies them there and back",
    "numpy_loop": "peer: hand-written NumPy",
    "pytorch": "peer: PyTorch on the CPU",
    "pytorch_cuda": "peer: PyTorch on a GPU",
}
SIZES = {
    "layers": "784-300-10",
    "activation": ("sigmoid", "relu"),
    "images": int,
    "batch": int,
    "epochs": int,
    "rate": float,
    "dtype": ("float64", "float32"),
    "source": ("mnist", "digits"),
    "seed": 1,
}
CURVE = ("epoch", "loss", "reference_loss", "loss_bound", "accuracy")
# Cases in which errors are injected, to see what the checks detect.
SENSITIVITY = [
    (
        "numpy_loop",
        {"threads": 1},
        {"layers": "784-13-10", "images": 130, "batch": 20, "epochs": 1, "rate": 0.5, "source": "digits"},
    ),
]
STATEFUL = True


def refuse(sizes: Sizes) -> str | None:
    """The reason why these sizes are invalid, as a sentence, or None."""
    return data_sizes.invalid_layers_reason("mlp", sizes, "784-300-10") or data_sizes.too_many_images_reason(
        "mlp", sizes
    )


def data_set(sizes: Sizes) -> str | None:
    """The data set that the training reads."""
    return sizes["source"]


def reference_sizes(sizes: Sizes) -> Sizes | None:
    """The sizes that the reference depends on: all except the dtype."""
    return {name: value for name, value in sizes.items() if name != "dtype"}


def rounds(sizes: Sizes) -> int:
    """Every epoch is a round."""
    return sizes["epochs"]


def steps(sizes):
    """Batches of an epoch; the last may be smaller."""
    return -(-sizes["images"] // sizes["batch"])


def arrays(sizes: Sizes) -> tuple[Kinds, Kinds]:
    """Inputs and outputs as {name: (shape, dtype)}."""
    images, widths = sizes["images"], reference.layer_sizes(sizes)
    inputs = {
        "pixels": ((images, 784), "uint8"),
        "labels": ((images,), "int64"),
        "order": ((images,), "int64"),
    }
    for layer, shape in enumerate(itertools.pairwise(widths), start=1):
        inputs[f"w{layer}"] = (shape, sizes["dtype"])
        inputs[f"b{layer}"] = (shape[1:], sizes["dtype"])
    return inputs, {"loss": ((steps(sizes),), sizes["dtype"])}


def fill(inputs: Arrays, sizes: Sizes, round: int, data: Any) -> Iterable[str]:
    """Write an epoch's order in place; before the first epoch also the images, labels and initial weights.

    Returns the names of the arrays written: a later epoch continues from the current weights.
    """
    inputs["order"][...] = reference.order(sizes, round)
    if round == 0:
        inputs["pixels"][...] = data.train_images[: sizes["images"]].reshape(-1, 784)
        inputs["labels"][...] = data.train_labels[: sizes["images"]]
        for layer, (weights, bias) in enumerate(reference.initial_parameters(sizes), start=1):
            inputs[f"w{layer}"][...] = weights
            inputs[f"b{layer}"][...] = bias
    return ["order"] if round else list(inputs)


def cost(sizes: Sizes) -> SimpleNamespace:
    """FLOPs of an epoch's products (two in the first layer, three in others), and the bytes that it must move."""
    widths = reference.layer_sizes(sizes)
    pairs = list(itertools.pairwise(widths))
    products = sum(fan_in * fan_out * (2 if layer == 0 else 3) for layer, (fan_in, fan_out) in enumerate(pairs))
    parameters = sum((fan_in + 1) * fan_out for fan_in, fan_out in pairs) * np.dtype(sizes["dtype"]).itemsize
    return SimpleNamespace(
        flops=2 * sizes["images"] * products,
        bytes=sizes["images"] * (784 + 8 + 8) + 2 * parameters,
        precision=sizes["dtype"],
    )


def check(sizes: Sizes, inputs: Arrays, outputs: Arrays, round: int, data: Any, exact: Any, precision: str) -> Round:
    """Compare an epoch's losses and final weights with the reference; returns the checks and a point of the CURVE."""
    checks, parameters = [], []
    for layer in range(1, len(reference.layer_sizes(sizes))):
        for name in (f"w{layer}", f"b{layer}"):
            allowed = reference.bound(exact[f"{name}_drift"][round], precision)
            checks.append(compare(name, inputs[name], exact[name][round], allowed))
        parameters.append((inputs[f"w{layer}"].astype(np.float64), inputs[f"b{layer}"].astype(np.float64)))
    allowed = reference.bound(exact["loss_drift"][round], precision)
    checks.append(compare("loss", outputs["loss"], exact["loss"][round], allowed))
    loss, expected = float(outputs["loss"].astype(np.float64).mean()), float(exact["loss"][round].mean())
    # At most as many test images as training images: the evaluation never takes longer than the training.
    images, labels = data.test_set(sizes["images"])
    point = {
        "epoch": round + 1,
        "loss": loss,
        "reference_loss": expected,
        "loss_bound": float(allowed),
        "accuracy": reference.accuracy(parameters, images, labels, sizes["activation"]),
    }
    return [*checks, Check("epoch loss", abs(loss - expected), float(allowed))], point
