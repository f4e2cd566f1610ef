"""What the launches of CUDA variants share."""

from functools import partial

import numpy as np

from ladder.devices import cuda


def thread_per_element(problem, variant, **block):
    """The timed launch of a kernel with a thread for each element of the result, in blocks of `block`."""
    kernel = cuda.kernel("tconv", variant, "convolve", dtype=problem.out.dtype.name, **block)
    grid, threads, _ = geometry(problem.sizes, **block)
    counts = (np.int32(problem.sizes[name]) for name in ("h", "c", "k"))
    return partial(kernel, grid, threads, (problem.image, problem.filter, problem.bias, problem.out, *counts))


def geometry(sizes, channels, columns, rows):
    """Grid, block, and bytes of dynamic shared memory: tiles of the result by channels, of every image."""
    height = 2 * sizes["h"]
    tiles = -(-height // columns) * -(-height // rows)
    return (tiles * -(-sizes["k"] // channels), sizes["images"]), (channels, columns, rows), 0
