"""GEMV on the GPU, a thread per row of the row-major matrix, x staged block by block in shared memory.

That saves loads of x, which all threads of a warp read at the same place and mostly found in a cache: for each element
of x that a block stages, its threads still read `block` elements of the matrix, in as many lines. So it is bound by
what bounds `cuda_naive`, and the bytes that it saves are a small part of the matrix's.
"""

import numpy as np

from ladder.devices import cuda

DEVICE = "cuda"
RUNTIME = "cuda"
REQUIRES = ("cupy",)
SOURCE = "cuda_shared.cu"


def setup(problem, *, block: int = 128):
    """The timed product, in blocks of `block` threads and elements of x."""
    n, m = problem.matrix.shape
    kernel = cuda.kernel("gemv", "cuda_shared", "gemv", problem.y.dtype.name, block=block)
    arguments = (problem.matrix, problem.x, problem.y, np.int64(n), np.int64(m))
    return lambda: kernel((-(-n // block),), (block,), arguments)
