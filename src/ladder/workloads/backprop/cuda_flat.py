"""The earlier study's approach on the GPU: the ragged data of all layers in one flat array, a kernel per macro block.

A thread computes a unit of a pattern, or a weight's sum over all patterns, from global memory. It computes the index of
every access: `walk` sums the sizes of the layers below, as the study did; `offsets` looks up the layer's start. The
weight change is latency-bound: it has few threads, each of which waits for its loads pattern by pattern. The products
are bound by the index arithmetic and by the caches, which load two elements per term. Macro blocks: see network.h.
"""

from functools import partial
from typing import Literal

import numpy as np

from ladder import cuda
from ladder.harness.contract import Problem, Run
from ladder.harness.steps import Steps
from ladder.workloads.backprop import flat

DEVICE = "cuda"
RUNTIME = "cuda"
REQUIRES = ("cupy",)
SOURCE = "cuda_flat.cu"
MACROS = ()
LIMITS = {"block": (1, 1024)}


def setup(problem: Problem, *, index: Literal["walk", "offsets"] = "walk", block: int = 256) -> Run:
    """The steps of an epoch, by macro block.

    Images and weights are copied to the flat arrays before it, and the weights back at its end.
    """
    net = flat.FlatNetwork(problem)
    sizes, last = problem.sizes, net.last
    tables = net.table(net.widths, "int32"), net.table(net.starts_of_activations + net.starts_of_weights, "int64")
    counts = map(np.int32, (net.pool_rows, last + 1, net.visited_count))
    factors = map(net.dtype.type, (sizes["rate"], sizes["momentum"]))
    arguments = (problem.ranpat, *net.arrays, *tables, *counts, *factors)

    def launch(name, layer, threads):
        kernel = cuda.kernel("backprop", "cuda_flat", f"{name}_{index}", net.dtype.name)
        return partial(kernel, flat.grid(threads, block), (block,), (*arguments, np.int32(layer)))

    def epoch():
        for layer in range(1, last + 1):
            yield "products", launch("products", layer, net.unit_threads(layer))
            yield "activations", launch("activations", layer, net.unit_threads(layer))
        yield "error", partial(problem.error.fill, 0)
        yield "error", launch("output_error", last, net.unit_threads(last))
        for layer in range(last, 1, -1):
            yield "deltas", launch("deltas", layer, net.unit_threads(layer - 1))
        for layer in range(1, last + 1):
            yield "weight change", launch("weight_change", layer, net.weight_threads(layer))
        for layer in range(1, last + 1):
            yield "update", launch("update", layer, net.weight_threads(layer))
        yield from net.copy_back()

    return Steps(run=list(epoch()), prepare=list(net.fill()))
