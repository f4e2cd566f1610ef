"""The launch of the CUDA variants that have a thread per row."""

import numpy as np

from ladder import cuda


def thread_per_row(variant, problem, matrix, *, block, **tuning):
    """The timed product by a variant's kernel, in blocks of `block` threads, from the matrix or its transpose."""
    n, m = problem.matrix.shape
    kernel = cuda.kernel("gemv", variant, "gemv", problem.y.dtype.name, block=block, **tuning)
    arguments = (matrix, problem.x, problem.y, np.int64(n), np.int64(m))
    return lambda: kernel((-(-n // block),), (block,), arguments)
