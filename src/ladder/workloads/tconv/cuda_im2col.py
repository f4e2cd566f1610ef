"""The transposed convolution on the GPU as one matrix product with a gathered matrix: im2col.

Each row of the gathered matrix has the 25 pixels under the filter at one position of the result, including the zeros
between and around the image's pixels. The product, by any CUDA variant of `gemm`, has 100 h^2 multiply-adds per pair of
channels instead of the necessary (5 h - 3)^2; three in four multiply by zero. The matrix is 100 times as large as the
image, so only `block` images are gathered at a time. The variant is bound by the product, and for few output channels
by writing and reading the matrix.
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
SOURCE = "cuda_im2col.cu"
MACROS = ()
USES = {"product": "gemm"}
# Images that are gathered at a time, not threads; the maximum is that of `images` in other CUDA variants.
LIMITS = {"block": (1, 65535)}
ACTIVATIONS = ("none", "relu", "tanh")  # by index in activation.cuh
BLOCKS_PER_MULTIPROCESSOR = 8  # CUDA blocks of the kernel that adds the bias


def pack(weights, packed):
    """Write a filter (5, 5, k, c), reversed, to an array (25 c, k)."""
    k, c = weights.shape[2:]
    packed.reshape(FILTER_SIDE, FILTER_SIDE, c, k)[...] = weights[::-1, ::-1].swapaxes(2, 3)


def blocks(problem, activation, product, block):
    """The Blocks, each of at most `block` images (not CUDA blocks).

    Raises LadderError if their matrix doesn't fit in the GPU's memory.
    """
    h, c, k, dtype = (problem.sizes[name] for name in ("h", "c", "k", "dtype"))
    positions, multiply = 4 * h * h, products.of(product)["nn"]
    block_images, matrix = matrices.allocate_block(problem, block, positions, FILTER_SIDE**2 * c)
    packed = problem.device.empty((FILTER_SIDE**2 * c, k), dtype)
    gather, add_bias = (cuda.kernel("tconv", "cuda_im2col", name, dtype) for name in ("gather", "add_bias"))
    grid = (BLOCKS_PER_MULTIPROCESSOR * cuda.multiprocessors(),)

    def steps(image, out):
        rows = len(image) * positions
        gathered, results = matrix[:rows], out.reshape(rows, k)
        scalars = np.int64(out.size), np.int32(k), np.int32(ACTIVATIONS.index(activation))
        yield "gather", partial(gather, (rows,), (THREADS,), (image, gathered, np.int32(h), np.int32(c)))
        yield "product", partial(multiply, gathered, packed, results)
        yield "bias", partial(add_bias, grid, (THREADS,), (results, problem.bias, *scalars))

    return Blocks(block_images, steps, dtype, (("pack", partial(pack, problem.filter, packed)),))


def layer(problem, *, activation="none", product: str = "cublas", block: int = 100):
    """The Layer, whose products are by the variant `product` of `gemm`."""
    return blocks(problem, activation, product, block).layer()


def setup(problem: Problem, *, product: str = "cublas", block: int = 100) -> Run:
    """The timed convolution by phase, and before it the packing of the filter."""
    return blocks(problem, "none", product, block).timed_steps(problem)
