"""The network of the earlier study's CUDA program in flat arrays on the GPU, and the grids of its kernels."""

from functools import partial
from itertools import accumulate

import numpy as np

from ladder.errors import LadderError
from ladder.workloads.backprop import reference

MAX_GRID_THREADS = 2**31 - 1  # the limit of 32-bit indices, including those of a layer's weights


class FlatNetwork:
    """Activations, deltas, weights and weight changes, each of all layers in one flat array (`flat.cuh`).

    Layer 0 of the activations holds the images.
    """

    def __init__(self, problem):
        sizes, self.dtype = problem.sizes, problem.error.dtype
        self.problem, self.widths = problem, reference.widths(sizes)
        self.pool_rows, self.visited_count, self.last = len(problem.images), sizes["images"], len(self.widths) - 1
        activation_counts = [self.pool_rows * width for width in self.widths]
        weight_counts = [rows * columns for rows, columns in reference.shapes(sizes)]
        # The start of each layer in its flat array; layer 0 has no weights.
        self.starts_of_activations = [0, *accumulate(activation_counts)][:-1]
        self.starts_of_weights = [0, 0, *accumulate(weight_counts)][:-1]
        empty = partial(problem.device.empty, dtype=self.dtype)
        self.out, self.delta = (empty((sum(activation_counts),)) for _ in range(2))
        self.w, self.dw = (empty((sum(weight_counts),)) for _ in range(2))
        self.arrays = problem.targets, self.out, self.delta, self.w, self.dw, problem.error

    def table(self, values, dtype):
        """A lookup table of the kernels, as an array on the GPU."""
        array = self.problem.device.empty((len(values),), dtype)
        self.problem.device.upload({"table": np.array(values, dtype)}, {"table": array})
        return array

    def pairs(self):
        """The problem's arrays w and dw, each with its part of the flat array."""
        for layer in range(1, self.last + 1):
            for name, flat in (("w", self.w), ("dw", self.dw)):
                array, start = getattr(self.problem, f"{name}{layer}"), self.starts_of_weights[layer]
                yield array, flat[start : start + array.size].reshape(array.shape)

    def fill(self):
        """The copies of the problem's images, w and dw to the flat arrays, as (phase, function)."""
        images = self.problem.images
        yield "flatten", partial(copy, self.out[: images.size].reshape(images.shape), images)
        for array, part in self.pairs():
            yield "flatten", partial(copy, part, array)

    def copy_back(self):
        """The copies of w and dw from the flat arrays to the problem's arrays, as (phase, function)."""
        for array, part in self.pairs():
            yield "give back", partial(copy, array, part)

    def unit_threads(self, layer):
        """The number of threads of a kernel with a thread per visited pattern and unit of a layer."""
        return self.visited_count * self.widths[layer]

    def weight_threads(self, layer):
        """The number of threads of a kernel with a thread per weight of a layer, biases included."""
        return (self.widths[layer - 1] + 1) * self.widths[layer]


def copy(target, source):
    """Copy an array to another of its shape."""
    target[...] = source


def grid(threads, block):
    """The grid of at least `threads` threads. Raises LadderError if they are too many."""
    if threads > MAX_GRID_THREADS:
        raise LadderError(
            f"A kernel of backprop would need {threads} threads, more than the {MAX_GRID_THREADS} that 32-bit indices "
            "allow: lower images, or the widths of layers."
        )
    return (-(-threads // block),)
