"""The transposed convolution on the GPU as a product with the whole filter, whose results are summed: col2im.

A pixel's channels times the filter's 25 * k rows are its contributions to up to 25 elements of the result. Each element
is the sum of 4, 6 or 9 contributions, fewer at the border. The product, by any CUDA variant of `gemm`, has 25 h^2
multiply-adds per pair of channels instead of the necessary (5 h - 3)^2: no zeros are multiplied, and only contributions
outside the result are wasted. `block` images are processed at a time. The variant is bound by the product, and for few
input channels by writing and reading its results.
"""

from functools import partial

import numpy as np

from ladder import cuda
from ladder.harness.contract import Problem, Run
from ladder.workloads.mlp import products
from ladder.workloads.tconv import FILTER_SIDE, matrices
from ladder.workloads.tconv.matrices import THREADS, Blocks

DEVICE = "cuda"
RUNTIME = "cuda"
REQUIRES = ("cupy",)
SOURCE = "cuda_col2im.cu"
MACROS = ()
USES = {"product": "gemm"}
# Images that are processed at a time, not threads; the maximum is that of `images` in other CUDA variants.
LIMITS = {"block": (1, 65535)}
ACTIVATIONS = ("none", "relu", "tanh")  # by index in activation.cuh


def blocks(problem, activation, product, block):
    """The Blocks, each of at most `block` images (not CUDA blocks).

    Raises LadderError if their products don't fit in the GPU's memory.
    """
    h, c, k, dtype = (problem.sizes[name] for name in ("h", "c", "k", "dtype"))
    pixels, multiply = h * h, products.of(product)["nt"]
    block_images, matrix = matrices.allocate_block(problem, block, pixels, FILTER_SIDE**2 * k)
    weights = problem.filter.reshape(FILTER_SIDE**2 * k, c)
    add_up = cuda.kernel("tconv", "cuda_col2im", "add_up", dtype)
    scalars = np.int32(h), np.int32(k), np.int32(ACTIVATIONS.index(activation))

    def steps(image, out):
        rows = len(image) * pixels
        part = matrix[:rows]
        yield "product", partial(multiply, image.reshape(rows, c), weights, part)
        yield "add up", partial(add_up, (len(image) * 2 * h,), (THREADS,), (part, problem.bias, out, *scalars))

    return Blocks(block_images, steps, dtype)


def layer(problem, *, activation="none", product: str = "cublas", block: int = 100):
    """The Layer, whose products are by the variant `product` of `gemm`."""
    return blocks(problem, activation, product, block).layer()


def setup(problem: Problem, *, product: str = "cublas", block: int = 100) -> Run:
    """The timed convolution by phase."""
    return blocks(problem, "none", product, block).timed_steps(problem)
