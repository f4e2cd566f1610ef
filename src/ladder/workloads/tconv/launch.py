"""The launch of the direct CUDA variants, which have a thread per element and channel of the result."""

import numpy as np

from ladder import cuda
from ladder.workloads.tconv.layer import Layer


def thread_per_element(problem, variant, **block):
    """The Layer by a variant's kernel; `block` has the channels, columns and rows of a thread block."""
    kernel = cuda.kernel("tconv", variant, "convolve", dtype=problem.sizes["dtype"], **block)
    counts = [np.int32(problem.sizes[name]) for name in ("h", "c", "k")]

    def run(image, out):
        grid, threads, _ = geometry(problem.sizes | {"images": len(image)}, **block)
        kernel(grid, threads, (image, problem.filter, problem.bias, out, *counts))

    return Layer(run, writes=problem.sizes["dtype"])


def geometry(sizes, channels, columns, rows):
    """Grid, block, and bytes of dynamic shared memory; a grid covers the result along x, the images along y."""
    side = 2 * sizes["h"]
    tiles = -(-side // columns) * -(-side // rows)
    return (tiles * -(-sizes["k"] // channels), sizes["images"]), (channels, columns, rows), 0
