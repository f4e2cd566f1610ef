"""What the transposed convolutions by explicit matrix products share: blocks of images, and their matrix in memory.

Any CUDA variant of `gemm` computes the products.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ladder.errors import LadderError
from ladder.harness.steps import Steps, chain_steps
from ladder.workloads.tconv.layer import Layer

THREADS = 256  # per CUDA block, `BLOCK` in the sources


class Blocks(NamedTuple):
    """A layer that processes at most `block_images` images at a time by `steps(image, out)`, as (phase, function).

    `prepare` and `writes` are those of the Layer.
    """

    block_images: int
    steps: Callable
    writes: str
    prepare: tuple = ()

    def all_steps(self, image, out):
        """The steps of all images, including a last, smaller block."""
        for start in range(0, len(image), self.block_images):
            part = slice(start, start + self.block_images)
            yield from self.steps(image[part], out[part])

    def layer(self):
        """The Layer."""
        return Layer(lambda image, out: chain_steps([*self.all_steps(image, out)])(), self.prepare, self.writes)

    def timed_steps(self, problem):
        """The Steps of a case with only this layer."""
        return Steps([*self.all_steps(problem.image, problem.out)], prepare=list(self.prepare))


def allocate_block(problem, block, rows, columns):
    """(The number of images of a block, at most `block`, and an array for their matrix with `rows` rows per image).

    Raises LadderError if the array doesn't fit in the GPU's free memory.
    """
    block_images, dtype = min(block, problem.sizes["images"]), np.dtype(problem.sizes["dtype"])
    try:
        return block_images, problem.device.empty((block_images * rows, columns), dtype)
    except MemoryError:
        size = block_images * rows * columns * dtype.itemsize
        raise LadderError(
            f"The matrix of {block_images} images takes {size} bytes, more than the GPU's free memory: "
            "lower `block`, or the number of images."
        ) from None
