"""GEMM by cuBLAS: cublasDgemm and cublasSgemm.

cuBLAS thinks in columns, so a row-major product is asked for as its transpose, out^T = op(B)^T op(A)^T, with nothing
copied. The addend of nt is copied into the result and added with beta = 1 in the same call. For float32, `math` = tf32
lets the tensor cores work on operands rounded to 11 bits, a lower precision that is checked against its own bound.

The library is called directly, since CuPy doesn't let its own calls be captured in a CUDA graph.
"""

import ctypes
import functools

import numpy as np

from ladder.devices import cuda
from ladder.errors import LadderError

DEVICE = "cuda"
RUNTIME = "cuda"
REQUIRES = ("cupy",)
MATH = {"default": 0, "tf32": 3}  # CUBLAS_DEFAULT_MATH, CUBLAS_TF32_TENSOR_OP_MATH
ALLOC_FAILED = 3  # CUBLAS_STATUS_ALLOC_FAILED
NAMES = {"float64": "cublasDgemm_v2", "float32": "cublasSgemm_v2"}


@functools.cache
def library():
    """The cuBLAS that CuPy uses."""
    from cuda.pathfinder import load_nvidia_dynamic_lib

    return ctypes.CDLL(load_nvidia_dynamic_lib("cublas").abs_path)


def call(name, *arguments):
    """Call a function of cuBLAS. Raises MemoryError when the card has too little, else LadderError when it fails."""
    status = library()[name](*arguments)
    if status == ALLOC_FAILED:
        raise MemoryError(f"{name} is out of memory")
    if status:
        raise LadderError(f"cuBLAS refuses {name} with status {status}.")


@functools.cache
def handle(math):
    """A handle for this arithmetic; its factors lie in the host's memory, which is the default."""
    found = ctypes.c_void_p()
    cuda.load_cupy().cuda.runtime.free(0)  # makes CUDA's context current
    call("cublasCreate_v2", ctypes.byref(found))
    call("cublasSetMathMode", found, MATH[math])
    return found


def product(form, math="default"):
    """`multiply(a, b, out, c=None)` of a form; shapes as in `ladder.workloads.gemm`."""
    if math not in MATH:
        raise LadderError(f"math={math!r} of gemm/cublas must be one of {', '.join(MATH)}.")
    current_stream, blas = cuda.load_cupy().cuda.get_current_stream, handle(math)
    transposed = ctypes.c_int(form == "nt"), ctypes.c_int(form == "tn")

    def multiply(a, b, out, c=None):
        (m, n), k = map(ctypes.c_int, out.shape), ctypes.c_int(a.shape[0 if form == "tn" else 1])
        if c is not None and c is not out:
            out.data.copy_from_device_async(c.data, c.nbytes)
        real = ctypes.c_double if out.dtype == np.float64 else ctypes.c_float
        alpha, beta = ctypes.byref(real(1)), ctypes.byref(real(c is not None))
        operands = (pointer(b), ctypes.c_int(b.shape[1]), pointer(a), ctypes.c_int(a.shape[1]))
        call("cublasSetStream_v2", blas, ctypes.c_void_p(current_stream().ptr))
        call(NAMES[out.dtype.name], blas, *transposed, n, m, k, alpha, *operands, beta, pointer(out), n)

    return multiply


def pointer(array):
    """The address of an array."""
    return ctypes.c_void_p(array.data.ptr)


def setup(problem, *, math: str = "default"):
    """The timed product."""
    multiply = product(problem.sizes["form"], math)
    return lambda: multiply(problem.a, problem.b, problem.out, problem.c)
