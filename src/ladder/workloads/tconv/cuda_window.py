"""The transposed convolution to few channels on the GPU without tensor cores, with a thread's sums in registers.

A thread computes all elements around 4 pixels of a row: per input channel, it reads 18 pixels from shared memory for
100 multiply-adds per output channel. A block has `rows` x 32 pixels of an image. Only pairs of pixels and taps that
exist are multiplied, except that pixels beyond the image, at its border or in a block's columns, count as zeros.
The variant is compute-bound, and for few channels bound by reading the image.
"""

from functools import partial

import numpy as np

from ladder import cuda
from ladder.harness.contract import Problem, Run
from ladder.workloads.tconv.layer import Layer, steps

DEVICE = "cuda"
RUNTIME = "cuda"
REQUIRES = ("cupy",)
SOURCE = "cuda_window.cu"
# The maximum number of images is that of blocks along y of a grid.
LIMITS = {"dtype": ("float32",), "k": (1, 4), "images": (1, 65535), "rows": (4, 32)}
ACTIVATIONS = ("none", "relu", "tanh")
WRITES_UINT8 = True  # a layer may write 8-bit pixels
# As in the source: columns of a block, pixels of a thread, channels of a step, elements of a vector of 16 bytes.
COLUMNS, PIXELS, BK, V = 32, 4, 16, 4
# The taps (r, s) of the filter in the order of use: for each pixel of a 3 x 3 window, element by element.
TAP_ORDER = [
    (y + 3 - 2 * row, x + 3 - 2 * column)
    for row, column, y, x in np.ndindex(3, 3, 2, 2)
    if row <= 1 + y and column <= 1 + x
]


def geometry(sizes, rows):
    """Grid, block, and bytes of dynamic shared memory."""
    tiles = -(-sizes["h"] // rows) * -(-sizes["h"] // COLUMNS)
    image_vectors = (rows + 2) * (COLUMNS + 4) * BK // V
    filter_vectors = BK * -(-25 * sizes["k"] // V)
    shared = 2 * 16 * (image_vectors + filter_vectors)  # two buffers
    return (tiles, sizes["images"]), (rows * COLUMNS // PIXELS,), shared


def pack(weights, packed):
    """Write a filter (5, 5, k, c) to an array (c, 25 * k padded to whole vectors)."""
    k = weights.shape[2]
    packed[...] = 0
    for index, (r, s) in enumerate(TAP_ORDER):
        packed[:, index * k : (index + 1) * k] = weights[r, s].T


def layer(problem, *, activation="none", result="float32", rows: int = 16):
    """The Layer, which writes a `result` of float32 or uint8."""
    sizes = problem.sizes
    h, c, k = (sizes[name] for name in ("h", "c", "k"))
    packed = problem.device.empty((c, -(-25 * k // V) * V), sizes["dtype"])
    kernel = cuda.kernel("tconv", "cuda_window", f"to{k}_{result}", sizes["dtype"], rows=rows)

    def run(image, out):
        grid, block, shared = geometry(sizes | {"images": len(image)}, rows)
        kernel.max_dynamic_shared_size_bytes = shared
        arguments = (image, packed, problem.bias, out, *map(np.int32, (h, c, ACTIVATIONS.index(activation))))
        kernel(grid, block, arguments, shared_mem=shared)

    return Layer(run, (("pack", partial(pack, problem.filter, packed)),), result)


def setup(problem: Problem, *, rows: int = 16) -> Run:
    """The timed convolution, and before it the packing of the filter."""
    return steps(problem, layer(problem, rows=rows))
