"""MLP training on one GPU, the data set resident; its matrix products are those of any CUDA variant of `gemm`.

One kernel gathers the images of an epoch. All deltas include the factor -rate, as the loss's derivative does: products
add updates directly to the weights, and the kernel that computes a delta also updates the bias. With `graph` on, an
epoch is one CUDA graph. With small batches the variant is bound by the latency of dependent kernels.
"""

from functools import partial
from typing import Literal

import numpy as np

from ladder import cuda
from ladder.harness.contract import Problem, Run
from ladder.harness.steps import chain_steps
from ladder.workloads.mlp import products

DEVICE = "cuda"
RUNTIME = "cuda"
REQUIRES = ("cupy",)
SOURCE = "cuda.cu"
USES = {"product": "gemm"}


def setup(problem: Problem, *, product: str, graph: Literal["off", "on"] = "on") -> Run:
    """One epoch: the graph of its steps, or the steps by phase."""
    steps = list(epoch(problem, products.of(product)))
    if graph == "on":
        return cuda.capture(chain_steps(steps), cuda.load_cupy().cuda.Stream(non_blocking=True))
    return steps


def epoch(problem, multiply):
    """The steps of an epoch, as (phase, function); `multiply` has its products, {form: function}."""
    sizes, dtype = problem.sizes, np.dtype(problem.sizes["dtype"])
    kernel = partial(cuda.kernel, "mlp", "cuda", dtype=dtype.name)
    widths = [int(width) for width in sizes["layers"].split("-")]
    last = len(widths) - 1
    weights = [None] + [getattr(problem, f"w{layer}") for layer in range(1, last + 1)]
    biases = [None] + [getattr(problem, f"b{layer}") for layer in range(1, last + 1)]
    images = problem.device.empty((sizes["images"], widths[0]), dtype)
    activations = [None] + [problem.device.empty((sizes["batch"], width), dtype) for width in widths[1:]]
    deltas = [None] + [problem.device.empty((sizes["batch"], width), dtype) for width in widths[1:]]

    gather, arguments = kernel("gather"), (problem.pixels, problem.order, images, np.int32(widths[0]))
    yield "gather", partial(gather, (sizes["images"],), (256,), arguments)
    for step, start in enumerate(range(0, sizes["images"], sizes["batch"])):
        rows = min(sizes["batch"], sizes["images"] - start)
        # The activations and the deltas of this batch, by layer.
        a = [images[start : start + rows], *(array[:rows] for array in activations[1:])]
        d = [None, *(delta[:rows] for delta in deltas[1:])]
        d[last] = a[last]  # the loss overwrites the logits with their delta
        for layer in range(1, last + 1):
            yield f"forward {layer}", partial(multiply["nn"], a[layer - 1], weights[layer], a[layer])
            if layer < last:
                count, width = np.int32(a[layer].size), np.int32(widths[layer])
                activate, arguments = kernel(sizes["activation"]), (a[layer], biases[layer], count, width)
                yield "activation", partial(activate, (-(-int(count) // 256),), (256,), arguments)
        order, loss = problem.order[start : start + rows], problem.loss[step : step + 1]
        arguments = (a[last], biases[last], problem.labels, order, loss)
        arguments += (np.int32(rows), np.int32(widths[last]), dtype.type(sizes["rate"]))
        yield "loss", partial(kernel("softmax_loss"), (1,), (512,), arguments)
        for layer in range(last, 0, -1):
            if layer > 1:
                below, width = layer - 1, widths[layer - 1]
                yield f"delta {below}", partial(multiply["nt"], d[layer], weights[layer], d[below])
                arguments = (d[below], a[below], biases[below], np.int32(rows), np.int32(width))
                slope = kernel(f"{sizes['activation']}_slope")
                yield "activation", partial(slope, (-(-width // 32),), (32, 32), arguments)
            yield f"gradient {layer}", partial(multiply["tn"], a[layer - 1], d[layer], weights[layer], weights[layer])
