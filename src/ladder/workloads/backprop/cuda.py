"""Back-propagation on one GPU; its matrix products are those of any CUDA variant of `gemm`, all else is fused.

A kernel gathers the patterns, and each product is followed by one kernel: bias and sigmoid; the output's error and
deltas; the derivative. The last two store sums by block, which are added in a fixed order. Deltas include the rate, so
a product adds the gradient directly to dw. With `graph` on, an epoch is one CUDA graph. The variant is bound by the
products, which read the gathered images twice, and by the gather.
"""

from functools import partial
from typing import Literal

import numpy as np

from ladder import cuda
from ladder.harness.contract import Problem, Run
from ladder.harness.steps import Steps, chain_steps
from ladder.workloads.backprop import reference
from ladder.workloads.mlp import products

DEVICE = "cuda"
RUNTIME = "cuda"
REQUIRES = ("cupy",)
SOURCE = "cuda.cu"
USES = {"product": "gemm"}
BLOCK_ROWS = 256  # rows of a block that sums columns, as in the source


def setup(problem: Problem, *, product: str, graph: Literal["off", "on"] = "on") -> Run:
    """One epoch: its steps by phase, or their graph."""
    steps = list(Epoch(problem, products.of(product)).steps())
    if graph == "off":
        return steps
    return Steps(steps, at_once=cuda.capture(chain_steps(steps), cuda.load_cupy().cuda.Stream(non_blocking=True)))


class Epoch:
    """The arrays and launches of an epoch; `multiply` has its products, {form: function}.

    `partials`, by layer, and `errors` are the column sums of deltas and of the error in each of `blocks` blocks of
    BLOCK_ROWS rows. `real` is the type of an element.
    """

    def __init__(self, problem, multiply):
        self.problem, self.multiply = problem, multiply
        self.widths, self.visited_count = reference.widths(problem.sizes), problem.sizes["images"]
        self.last, self.real = len(self.widths) - 1, problem.error.dtype.type
        layers, empty = range(1, self.last + 1), partial(problem.device.empty, dtype=problem.error.dtype)
        self.w, self.dw = ([None, *(getattr(problem, f"{name}{layer}") for layer in layers)] for name in ("w", "dw"))
        self.out = [empty((self.visited_count, width)) for width in self.widths]
        self.delta = [None, *(empty((self.visited_count, width)) for width in self.widths[1:])]
        self.targets, self.blocks = empty((self.visited_count, self.widths[-1])), -(-self.visited_count // BLOCK_ROWS)
        self.partials = [None, *(empty((self.blocks, width)) for width in self.widths[1:])]
        self.errors = empty((self.blocks, self.widths[-1]))

    def kernel(self, name, grid, block, *arguments):
        """A function that launches a kernel; ints are passed as int32."""
        function = cuda.kernel("backprop", "cuda", name, dtype=self.problem.error.dtype.name)
        values = tuple(np.int32(argument) if isinstance(argument, int) else argument for argument in arguments)
        return partial(function, grid, block, values)

    def elementwise(self, name, array, *arguments):
        """A launch with a thread for each element of an array."""
        return self.kernel(name, (-(-array.size // 256),), (256,), array, *arguments)

    def columnwise(self, name, layer, *arguments):
        """A launch with blocks of BLOCK_ROWS rows and 32 columns of a layer."""
        grid = -(-self.widths[layer] // 32), self.blocks
        return self.kernel(name, grid, (32, 32), *arguments)

    def steps(self):
        """The steps of an epoch, as (phase, function)."""
        problem, real = self.problem, self.real
        for name, target in (("images", self.out[0]), ("targets", self.targets)):
            operands = getattr(problem, name), problem.ranpat, target, target.shape[1]
            yield "gather", self.kernel("gather", (self.visited_count,), (256,), *operands)
        for layer in range(1, self.last + 1):
            out, w = self.out[layer], self.w[layer]
            yield "products", partial(self.multiply["nn"], self.out[layer - 1], w[1:], out)
            yield "activations", self.elementwise("sigmoid", out, w[0], out.size, self.widths[layer])
        yield from self.backward()
        for layer in range(1, self.last + 1):
            dw, arguments = self.dw[layer], (self.partials[layer], self.dw[layer], self.blocks, self.widths[layer])
            momentum = real(problem.sizes["momentum"])
            yield "weight change", self.kernel("add_up", (self.widths[layer],), (32,), *arguments, momentum)
            yield "weight change", self.elementwise("scale", dw[1:], momentum, dw[1:].size)
            gradient = partial(self.multiply["tn"], self.out[layer - 1], self.delta[layer], dw[1:], dw[1:])
            yield "weight change", gradient
        for layer in range(1, self.last + 1):
            yield "update", self.elementwise("add", self.w[layer], self.dw[layer], self.w[layer].size)

    def backward(self):
        """The steps from the output's error to the deltas of the first layer."""
        last, visited_count = self.last, self.visited_count
        arrays = self.out[last], self.targets, self.delta[last], self.partials[last], self.errors
        rate = self.real(self.problem.sizes["rate"])
        yield "error", self.columnwise("output", last, *arrays, visited_count, self.widths[last], rate)
        count = self.errors.size
        yield "error", self.kernel("add_up", (1,), (32,), self.errors, self.problem.error, count, 1, self.real(0))
        for layer in range(last - 1, 0, -1):
            delta = self.delta[layer]
            yield "deltas", partial(self.multiply["nt"], self.delta[layer + 1], self.w[layer + 1][1:], delta)
            arrays = delta, self.out[layer], self.partials[layer]
            yield "deltas", self.columnwise("slope", layer, *arrays, visited_count, self.widths[layer])
