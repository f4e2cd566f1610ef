"""The network of the earlier study's CUDA program in flat arrays on the GPU, and the launches of its kernels."""

from functools import partial
from itertools import accumulate

import numpy as np

from ladder.errors import LadderError
from ladder.workloads.backprop import reference

MOST_THREADS = 2**31 - 1  # the limit of 32-bit indices, including those of a layer's weights


class Flat:
    """All layers' units, images first, their weights and their steps, each in one flat array (`flat.cuh`)."""

    def __init__(self, problem):
        sizes, self.dtype = problem.sizes, problem.error.dtype
        self.problem, self.widths = problem, reference.widths(sizes)
        self.rows, self.count, self.last = len(problem.images), sizes["images"], len(self.widths) - 1
        units = [self.rows * width for width in self.widths]
        weights = [rows * columns for rows, columns in reference.shapes(sizes)]
        # The start of each layer; layer 0 has no weights.
        self.starts_of_units = [0, *accumulate(units)][:-1]
        self.starts_of_weights = [0, 0, *accumulate(weights)][:-1]
        empty = partial(problem.device.empty, dtype=self.dtype)
        self.out, self.delta = (empty((sum(units),)) for _ in range(2))
        self.w, self.dw = (empty((sum(weights),)) for _ in range(2))
        self.arrays = problem.targets, self.out, self.delta, self.w, self.dw, problem.error

    def table(self, values, dtype):
        """A lookup table of the kernels, as an array on the GPU."""
        array = self.problem.device.empty((len(values),), dtype)
        self.problem.device.upload({"table": np.array(values, dtype)}, {"table": array})
        return array

    def pairs(self):
        """The problem's weights and steps, each with its part of the flat array."""
        for layer in range(1, self.last + 1):
            for name, flat in (("w", self.w), ("dw", self.dw)):
                array, start = getattr(self.problem, f"{name}{layer}"), self.starts_of_weights[layer]
                yield array, flat[start : start + array.size].reshape(array.shape)

    def fill(self):
        """The steps that copy a problem's images, weights and steps to the flat arrays, as (phase, function)."""
        images = self.problem.images
        yield "flatten", partial(copy, self.out[: images.size].reshape(images.shape), images)
        for array, part in self.pairs():
            yield "flatten", partial(copy, part, array)

    def give_back(self):
        """The steps that copy weights and steps from the flat arrays back to the problem, as (phase, function)."""
        for array, part in self.pairs():
            yield "give back", partial(copy, array, part)

    def by_pattern(self, layer):
        """The number of threads with one per unit of a layer and visited pattern."""
        return self.count * self.widths[layer]

    def by_weight(self, layer):
        """The number of threads with one per weight of a layer, including the bias."""
        return (self.widths[layer - 1] + 1) * self.widths[layer]


def copy(target, source):
    """Copy an array to another of its shape."""
    target[...] = source


def grid(threads, block):
    """The grid of at least `threads` threads. Raises LadderError if they are too many."""
    if threads > MOST_THREADS:
        raise LadderError(
            f"A kernel of backprop would need {threads} threads, of which it can count {MOST_THREADS}: "
            "lower images, or the widths of layers."
        )
    return (-(-threads // block),)
