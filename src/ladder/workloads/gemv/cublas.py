"""GEMV by cuBLAS: cublasDgemv and cublasSgemv.

cuBLAS expects column-major matrices, so the row-major matrix is passed as a column-major one of m rows and n columns,
whose transpose is multiplied; nothing is copied. The variant is bound by the bandwidth of the GPU's memory; small
matrices by latency.
"""

import ctypes
from functools import partial
from itertools import pairwise

from ladder.cuda.cublas import bind, handle, pointer, scalar_pointer, use_current_stream
from ladder.harness.contract import Problem, Run

DEVICE = "cuda"
RUNTIME = "cuda"
REQUIRES = ("cupy",)
FUNCTIONS = {"float64": "cublasDgemv_v2_64", "float32": "cublasSgemv_v2_64"}
TRANSPOSED = ctypes.c_int(1)  # CUBLAS_OP_T
# From this number of elements on, cuBLAS 13 uses a kernel that reaches less than half of the bandwidth.
SLOW_SIZE = 2**31


def product(matrix, x, y):
    """A function that writes M x to y in CuPy's current stream; shapes as in `ladder.workloads.gemv`, C-contiguous.

    Large matrices are split into equal parts. The arguments of all calls are prepared beforehand, so that they take
    little of the host's time.
    """
    n, m = matrix.shape
    parts = -(-n // max((SLOW_SIZE - 1) // m, 1))
    ends = [n * index // parts for index in range(parts + 1)]
    calls = [bound_call(matrix[first:end], x, y[first:end]) for first, end in pairwise(ends)]
    return partial(multiply, calls, (matrix, x, y))


def multiply(calls, arrays):
    """Make the calls in CuPy's current stream. `arrays` keeps the arrays alive whose addresses are their arguments."""
    use_current_stream(handle())
    for call in calls:
        call()


def bound_call(matrix, x, y):
    """A function that calls cuBLAS once, to write M x to y."""
    (n, m), increment = map(ctypes.c_int64, matrix.shape), ctypes.c_int64(1)
    alpha, beta = scalar_pointer(1, y.dtype), scalar_pointer(0, y.dtype)
    operands = (alpha, pointer(matrix), m, pointer(x), increment, beta, pointer(y), increment)
    return bind(FUNCTIONS[y.dtype.name], handle(), TRANSPOSED, m, n, *operands)


def setup(problem: Problem) -> Run:
    """The timed product."""
    return product(problem.matrix, problem.x, problem.y)
