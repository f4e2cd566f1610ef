"""GEMM by cuBLAS: cublasDgemm and cublasSgemm.

cuBLAS expects column-major matrices, so a row-major product is computed as its transpose, out^T = op(B)^T op(A)^T, and
no operand is copied. An addend is copied into the result, unless it is the result, and added with beta = 1 in the same
call. For float32, `math` = tf32 uses tensor cores on operands rounded to 11 significant bits, and has its own error
bound.
"""

import ctypes

from ladder.cuda.cublas import MATH, call, handle, pointer, scalar_pointer, use_current_stream
from ladder.errors import LadderError
from ladder.harness.contract import Problem, Run

DEVICE = "cuda"
RUNTIME = "cuda"
REQUIRES = ("cupy",)
FUNCTIONS = {"float64": "cublasDgemm_v2", "float32": "cublasSgemm_v2"}


def product(form, math="default"):
    """`multiply(a, b, out, c=None)` of a form; shapes as in `ladder.workloads.gemm`."""
    if math not in MATH:
        raise LadderError(f"math={math!r} of gemm/cublas must be one of {', '.join(MATH)}.")
    blas_handle, transpositions = handle(math), (ctypes.c_int(form == "nt"), ctypes.c_int(form == "tn"))

    def multiply(a, b, out, c=None):
        (m, n), k = map(ctypes.c_int, out.shape), ctypes.c_int(a.shape[0 if form == "tn" else 1])
        if c is not None and c is not out:
            out.data.copy_from_device_async(c.data, c.nbytes)
        alpha, beta = scalar_pointer(1, out.dtype), scalar_pointer(c is not None, out.dtype)
        operands = (pointer(b), ctypes.c_int(b.shape[1]), pointer(a), ctypes.c_int(a.shape[1]))
        use_current_stream(blas_handle)
        call(FUNCTIONS[out.dtype.name], blas_handle, *transpositions, n, m, k, alpha, *operands, beta, pointer(out), n)

    return multiply


def setup(problem: Problem, *, math: str = "default") -> Run:
    """The timed product."""
    multiply = product(problem.sizes["form"], math)
    return lambda: multiply(problem.a, problem.b, problem.out, problem.c)
