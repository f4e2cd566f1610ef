"""GEMV by cuBLAS: cublasDgemv and cublasSgemv.

cuBLAS thinks in columns: the row-major matrix is to it a column-major one of m rows and n columns, asked for
transposed, with nothing copied. Bound by the bandwidth of the card's memory.
"""

import ctypes
from itertools import pairwise

from ladder.devices.cublas import call, factor, handle, pointer, use_current_stream

DEVICE = "cuda"
RUNTIME = "cuda"
REQUIRES = ("cupy",)
NAMES = {"float64": "cublasDgemv_v2_64", "float32": "cublasSgemv_v2_64"}
TRANSPOSED = ctypes.c_int(1)  # CUBLAS_OP_T
# From this many elements on, cuBLAS 13 takes a kernel that reads at less than half of the bandwidth.
SLOW = 2**31


def multiply(matrix, x, y):
    """Write M x to y; shapes as in `ladder.workloads.gemv`, arrays C-contiguous. Large matrices in equal parts."""
    n, m = matrix.shape
    parts = -(-n // max((SLOW - 1) // m, 1))
    ends = [n * part // parts for part in range(parts + 1)]
    for first, end in pairwise(ends):
        multiply_part(matrix[first:end], x, y[first:end])


def multiply_part(matrix, x, y):
    """Write M x to y by one call of cuBLAS."""
    blas, (n, m), one = handle(), map(ctypes.c_int64, matrix.shape), ctypes.c_int64(1)
    alpha, beta = factor(1, y.dtype), factor(0, y.dtype)
    use_current_stream(blas)
    operands = (alpha, pointer(matrix), m, pointer(x), one, beta, pointer(y), one)
    call(NAMES[y.dtype.name], blas, TRANSPOSED, m, n, *operands)


def setup(problem):
    """The timed product."""
    return lambda: multiply(problem.matrix, problem.x, problem.y)
