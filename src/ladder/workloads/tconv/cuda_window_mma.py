"""The transposed convolution to few channels on the GPU's tensor cores, by the pixels around each pixel.

A pixel's four elements of the result are computed from the 3 x 3 pixels around it. The elements are columns of two
products of 8 columns, one for each of the two rows of elements. For 3 output channels, 75 of the 120 multiply-adds per
pixel and input channel are needed; the others multiply zeros. A block has `rows` x 32 pixels of an image, which it
reads once. A warp has four rows of them, or two if `rows` isn't a multiple of four. `math` and operands are as in
`cuda_implicit_mma`. Memory-bound: a call takes a third longer than reading the image, because the products wait for it.
"""

from functools import partial
from typing import Literal

import numpy as np

from ladder import cuda
from ladder.cuda import dependent_launch
from ladder.harness.contract import Problem, Run
from ladder.workloads.tconv import implicit, operands
from ladder.workloads.tconv.layer import Layer

DEVICE = "cuda"
RUNTIME = "cuda"
REQUIRES = ("cupy",)
SOURCE = "cuda_window_mma.cu"
# The maximum number of images is that of blocks along y of a grid.
LIMITS = {"dtype": ("float32",), "k": (1, 4), "images": (1, 65535), "rows": (2, 32)}
PRECISION = {"float32": "tf32"}  # unless `math` is different
ACTIVATIONS = ("none", "relu", "tanh")
READS_OPERANDS = True  # see `layer.py`
OVERLAPS = True  # a layer's kernel may begin while the previous one ends, see `layer.py`
WRITES_UINT8 = True  # a layer may write 8-bit pixels
# As in the source: columns of a block's pixels, bytes of a line in shared memory, columns of a tensor-core product.
COLUMNS, LINE_BYTES, PRODUCT_COLUMNS = 32, 128, 8


def geometry(sizes, rows):
    """Grid, block, and bytes of dynamic shared memory."""
    tiles = -(-sizes["h"] // rows) * -(-sizes["h"] // COLUMNS)
    shared = LINE_BYTES * ((rows + 2) * (COLUMNS + 2) + implicit.packed_rows(parities=4) * 2 * PRODUCT_COLUMNS)
    return (tiles, sizes["images"]), (32 * rows // (2 if rows % 4 else 4),), shared


def split_rows(packed_elements, columns):
    """Write the packed filter (9, 4 k, c) to the columns of both products (9, 2, 8, c), padded with zeros.

    The first axis has the 3 x 3 pixels, and the second axis of `columns` the two rows of elements.
    """
    columns[...] = 0
    by_row = packed_elements.reshape(len(packed_elements), 2, -1, packed_elements.shape[-1])
    columns[:, :, : by_row.shape[2]] = by_row


def layer(problem, *, math="tf32", activation="none", result="float32", overlaps=False, rows: int = 16):
    """The Layer from arrays of `operands` to a `result` of float32 or uint8."""
    sizes, device = problem.sizes, problem.device
    h, c, k = (sizes[name] for name in ("h", "c", "k"))
    packed_elements = device.empty((implicit.packed_rows(parities=4), 4 * k, c), "float32")
    columns = device.empty((implicit.packed_rows(parities=4), 2, PRODUCT_COLUMNS, c), "float32")
    packed = operands.zeros(device, columns.shape, math)
    kernel = cuda.kernel("tconv", "cuda_window_mma", f"{math}_to_{result}", "float32", rows=rows)
    launch_kernel = dependent_launch.launcher(kernel) if overlaps else kernel
    prepare = (
        ("pack", partial(implicit.pack, problem.filter, packed_elements, parities=4)),
        ("pack", partial(split_rows, packed_elements, columns)),
        ("pack", partial(operands.writer("cuda_window_mma", math, rows=rows), columns, packed)),
    )

    def run(image, out):
        grid, block, shared = geometry(sizes | {"images": len(image)}, rows)
        kernel.max_dynamic_shared_size_bytes = shared
        counts = map(np.int32, (h, image.shape[-1], k, ACTIVATIONS.index(activation)))
        launch_kernel(grid, block, (image, packed, problem.bias, out, *counts), shared_mem=shared)

    return Layer(run, prepare, result)


def setup(problem: Problem, *, math: Literal["tf32", "float16", "bfloat16"] = "tf32", rows: int = 16) -> Run:
    """The timed convolution, with the conversion of the image if necessary; the filter is packed before."""
    convolution = layer(problem, math=math, rows=rows)
    return operands.steps(problem, convolution, math, operands.writer("cuda_window_mma", math, rows=rows))
