"""GEMV by cuBLAS: cublasDgemv and cublasSgemv.

cuBLAS expects column-major matrices: the row-major matrix is passed as one of m rows and n columns, whose transpose is
multiplied, and nothing is copied. Bound by the bandwidth of the GPU's memory, or by latency for small matrices.
"""

import ctypes
from functools import partial
from itertools import pairwise

from ladder.cuda.cublas import bind, factor, handle, pointer, use_current_stream

DEVICE = "cuda"
RUNTIME = "cuda"
REQUIRES = ("cupy",)
NAMES = {"float64": "cublasDgemv_v2_64", "float32": "cublasSgemv_v2_64"}
TRANSPOSED = ctypes.c_int(1)  # CUBLAS_OP_T
# From this number of elements on, cuBLAS 13 uses a kernel that reaches less than half of the bandwidth.
SLOW = 2**31


def product(matrix, x, y):
    """A function that writes M x to y in CuPy's current stream; shapes as in `ladder.workloads.gemv`, C-contiguous.

    Large matrices are split into equal parts. The arguments are prepared beforehand, so that a call costs the host
    little.
    """
    n, m = matrix.shape
    parts = -(-n // max((SLOW - 1) // m, 1))
    ends = [n * index // parts for index in range(parts + 1)]
    calls = [part(matrix[first:end], x, y[first:end]) for first, end in pairwise(ends)]
    return partial(multiply, calls, (matrix, x, y))


def multiply(calls, arrays):
    """Make the calls in CuPy's current stream; `arrays` keeps alive the arrays whose addresses they hold."""
    use_current_stream(handle())
    for call in calls:
        call()


def part(matrix, x, y):
    """One call of cuBLAS, which writes M x to y, as a function."""
    (n, m), increment = map(ctypes.c_int64, matrix.shape), ctypes.c_int64(1)
    alpha, beta = factor(1, y.dtype), factor(0, y.dtype)
    operands = (alpha, pointer(matrix), m, pointer(x), increment, beta, pointer(y), increment)
    return bind(NAMES[y.dtype.name], handle(), TRANSPOSED, m, n, *operands)


def setup(problem):
    """The timed product."""
    return product(problem.matrix, problem.x, problem.y)
