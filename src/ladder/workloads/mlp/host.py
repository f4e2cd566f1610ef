"""MLP training on the CPU; its matrix products are those of any host variant of `gemm`.

The other operations (`elementwise`) run on the same threads as the products if these are Numba's or OpenBLAS can use
Numba's (`blas_threads`), otherwise on one thread; the loss and the update of biases always run on one. An epoch is
bound by the products' FLOPs plus, per batch, the traffic of reading and writing the weights and their gradient, which
dominates for small batches.
"""

from functools import partial

import numba
import numpy as np

from ladder.catalogue import workloads
from ladder.harness.contract import Problem, Run
from ladder.workloads.mlp import blas_threads, elementwise, products

DEVICE = "host"
USES = {"product": "gemm"}


def setup(problem: Problem, *, product: str, threads: int) -> Run:
    """The steps of one epoch, by phase: every batch's products and elementwise operations on preallocated arrays."""
    gemm = workloads.load_variant("gemm", product)
    is_shared = gemm.RUNTIME == "numba" or blas_threads.share_threads(threads)
    numba.set_num_threads(threads if is_shared else 1)
    multiply = products.of(product)
    sizes, dtype = problem.sizes, np.dtype(problem.sizes["dtype"])
    widths = [int(width) for width in sizes["layers"].split("-")]
    last = len(widths) - 1
    weights = [None] + [getattr(problem, f"w{layer}") for layer in range(1, last + 1)]
    biases = [None] + [getattr(problem, f"b{layer}") for layer in range(1, last + 1)]
    empty = problem.device.empty
    activations = [empty((sizes["batch"], width), dtype) for width in widths]
    deltas = [empty((sizes["batch"], width), dtype) for width in widths]
    weight_gradients = [None] + [empty(weights[layer].shape, dtype) for layer in range(1, last + 1)]
    bias_gradients = [None] + [empty(biases[layer].shape, dtype) for layer in range(1, last + 1)]
    rate = dtype.type(sizes["rate"])
    activate, slope = {
        "sigmoid": (elementwise.sigmoid, elementwise.sigmoid_slope),
        "relu": (elementwise.relu, elementwise.relu_slope),
    }[sizes["activation"]]

    def batch(step, start):
        """The steps of one batch, as (phase, function)."""
        rows = min(sizes["batch"], sizes["images"] - start)
        # The activations and the deltas of this batch, by layer.
        a, d = [array[:rows] for array in activations], [delta[:rows] for delta in deltas]
        d[last] = a[last]  # the loss overwrites the logits with their delta
        yield "gather", partial(elementwise.gather, problem.pixels, problem.order, start, a[0])
        for layer in range(1, last + 1):
            yield f"forward {layer}", partial(multiply["nn"], a[layer - 1], weights[layer], a[layer])
            if layer < last:
                yield "activation", partial(activate, a[layer], biases[layer])
        arguments = (problem.labels, problem.order, start, problem.loss, step)
        yield "loss", partial(elementwise.softmax_loss, a[last], biases[last], *arguments)
        for layer in range(last, 0, -1):
            yield f"gradient {layer}", partial(multiply["tn"], a[layer - 1], d[layer], weight_gradients[layer])
            if layer > 1:
                yield f"delta {layer - 1}", partial(multiply["nt"], d[layer], weights[layer], d[layer - 1])
            yield "bias", partial(elementwise.update_bias, biases[layer], d[layer], rate, bias_gradients[layer])
            yield "update", partial(elementwise.update_weights, weights[layer], weight_gradients[layer], rate)
            if layer > 1:
                yield "activation", partial(slope, d[layer - 1], a[layer - 1])

    starts = range(0, sizes["images"], sizes["batch"])
    return [entry for step, start in enumerate(starts) for entry in batch(step, start)]
