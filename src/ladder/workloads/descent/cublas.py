"""The solve by cuBLAS: a matrix-vector product (`product` = gemv, or symv of one triangle), dot, axpy and scal.

Factors and sums stay on the card (CUBLAS_POINTER_MODE_DEVICE), and a kernel of one thread computes with them. So the
host needn't wait for an iteration: it launches all of them, `iterations` in number, and those after the end of a solve
change nothing but take their time. With `batch` = k it looks after every k whether the solve has ended. With `graph` on
the k, or all, are one CUDA graph. In large systems bound by the bandwidth at which A is read, in small ones by the
latency of kernels that depend on each other, eight and more an iteration.
"""

import ctypes
import functools
from typing import Literal

import numpy as np

from ladder.devices import cuda
from ladder.devices.cublas import bound, call, factor, pointer, use_current_stream
from ladder.devices.cublas import handle as shared
from ladder.harness.steps import in_order
from ladder.workloads.gemv import cublas as gemv

DEVICE = "cuda"
RUNTIME = "cuda"
REQUIRES = ("cupy",)
SOURCE = "cublas.cu"
MACROS = ()
LIMITS = {"algorithm": ("steepest", "cg", "jacobi")}
ONE = ctypes.c_int64(1)
LOWER = ctypes.c_int(0)  # CUBLAS_FILL_MODE_LOWER
# The members of Scalars in cublas.cu.
SCALARS = ("one", "pq", "rr", "rz", "squared", "product", "alpha", "minus_alpha", "beta")
BLOCK = 256


@functools.cache
def handle():
    """A handle of cuBLAS whose factors and sums lie in the card's memory."""
    found = ctypes.c_void_p()
    shared()  # makes CUDA's context current
    call("cublasCreate_v2", ctypes.byref(found))
    call("cublasSetPointerMode_v2", found, ctypes.c_int(1))  # CUBLAS_POINTER_MODE_DEVICE
    return found


def function(name, dtype, *arguments):
    """A call of cuBLAS's function for a dtype, with 64-bit counts, in the stream that is current at `in_stream`."""
    return bound(f"cublas{ {'float32': 'S', 'float64': 'D'}[dtype.name] }{name}_v2_64", handle(), *arguments)


def symmetric_product(matrix, v, out):
    """A function that writes A v to `out` and reads the lower triangle of A by columns; arrays as in `gemv.product`."""
    n, dtype = ctypes.c_int64(len(v)), v.dtype
    name = {"float32": "cublasSsymv_v2_64", "float64": "cublasDsymv_v2_64"}[dtype.name]
    operands = pointer(matrix), n, pointer(v), ONE, factor(0, dtype), pointer(out), ONE
    multiply = bound(name, shared(), LOWER, n, factor(1, dtype), *operands)

    def run():
        use_current_stream(shared())
        multiply()

    return run


PRODUCTS = {"gemv": gemv.product, "symv": symmetric_product}
