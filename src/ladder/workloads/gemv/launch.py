"""The launch of the CUDA variants that have a thread per row of the row-major matrix."""

import numpy as np

from ladder import cuda


def thread_per_row(variant, problem, block):
    """The timed product by a variant's kernel, in blocks of `block` threads."""
    n, m = problem.matrix.shape
    kernel = cuda.kernel("gemv", variant, "gemv", problem.y.dtype.name, block=block)
    arguments = (problem.matrix, problem.x, problem.y, np.int64(n), np.int64(m))
    return lambda: kernel((-(-n // block),), (block,), arguments)
