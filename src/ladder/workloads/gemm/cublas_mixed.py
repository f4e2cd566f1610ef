"""GEMM by cuBLAS in mixed precision: operands in half precision or split into TF32 parts, sums in float32.

`math` = float16 or bfloat16 rounds both float32 operands to 11 or 8 significant bits. float16 has a small range, so
operands are scaled by SCALE and the result is divided by its square: operands below 64 don't overflow, and those from
6e-8 on keep all 11 bits. `math` = tf32x3 splits each operand into two TF32 parts of together 22 bits, and adds three of
the parts' four products. Its error hardly exceeds float32's own rounding (Ootomo and Yokota, Recovering Single
Precision Accuracy from Tensor Cores While Surpassing the FP32 Theoretical Peak Performance, 2022). Each precision has
its own error bound.

The conversion is part of the timed run. With `conversion` = ahead it is done before, as in a program that stores its
data in that precision. The variant is bound by the tensor cores; the conversion is memory-bound.
"""

import ctypes
from typing import Literal

import numpy as np

from ladder import cuda
from ladder.cuda.cublas import call, handle, pointer, scalar_pointer, use_current_stream
from ladder.harness.contract import Problem, Run
from ladder.harness.steps import Steps

DEVICE = "cuda"
RUNTIME = "cuda"
REQUIRES = ("cupy",)
SOURCE = "cublas_mixed.cu"
LIMITS = {"dtype": ("float32",)}
SCALE = {"float16": 2.0**10}
# The number of parts of an operand.
PARTS = {"float16": 1, "bfloat16": 1, "tf32x3": 2}
# The products to add, as (part of A, part of B), the smaller ones first. Part 0 has the leading bits.
PRODUCTS = {"float16": [(0, 0)], "bfloat16": [(0, 0)], "tf32x3": [(1, 0), (0, 1), (0, 0)]}
FLOAT32 = ctypes.c_int(0)  # CUDA_R_32F
TYPES = {"float16": ctypes.c_int(2), "bfloat16": ctypes.c_int(14), "tf32x3": FLOAT32}  # CUDA_R_16F, CUDA_R_16BF
# CUBLAS_COMPUTE_32F and CUBLAS_COMPUTE_32F_FAST_TF32
COMPUTE_TYPES = {"float16": ctypes.c_int(68), "bfloat16": ctypes.c_int(68), "tf32x3": ctypes.c_int(77)}
ALGORITHM = ctypes.c_int(-1)  # CUBLAS_GEMM_DEFAULT
BLOCK = 256  # threads, as in the CUDA source
BLOCKS_PER_MULTIPROCESSOR = 8


def allocate_parts(array, math):
    """The parts of an operand, uninitialised, and a function that computes them."""
    cupy = cuda.load_cupy()
    kernel = cuda.kernel("gemm", "cublas_mixed", math, "float32")
    dtype = np.float32 if TYPES[math] is FLOAT32 else np.uint16
    parts = [cupy.empty(array.shape, dtype) for _ in range(PARTS[math])]
    grid = (BLOCKS_PER_MULTIPROCESSOR * cuda.multiprocessors(),)
    arguments = (array, *parts, np.int64(array.size), np.float32(SCALE.get(math, 1)))
    return parts, lambda: kernel(grid, (BLOCK,), arguments)


def product_of_parts(form, math):
    """`multiply(a, b, out, c=None)` of a form, on lists of parts of a and b; shapes as in `ladder.workloads.gemm`."""
    blas_handle, transpositions = handle(), (ctypes.c_int(form == "nt"), ctypes.c_int(form == "tn"))
    unscale_factor = SCALE.get(math, 1) ** -2

    def multiply(a, b, out, c=None):
        (m, n), k = map(ctypes.c_int, out.shape), ctypes.c_int(a[0].shape[0 if form == "tn" else 1])
        if c is not None:
            out.data.copy_from_device_async(c.data, c.nbytes)
        use_current_stream(blas_handle)
        accumulate = c is not None
        # The operands of the transposed product, see `ladder.workloads.gemm.cublas`.
        for a_part, b_part in PRODUCTS[math]:
            left, right = b[b_part], a[a_part]
            operands = (
                *(pointer(left), TYPES[math], ctypes.c_int(left.shape[1])),
                *(pointer(right), TYPES[math], ctypes.c_int(right.shape[1])),
            )
            result = (scalar_pointer(accumulate, out.dtype), pointer(out), FLOAT32, n, COMPUTE_TYPES[math], ALGORITHM)
            call(
                "cublasGemmEx",
                blas_handle,
                *transpositions,
                n,
                m,
                k,
                scalar_pointer(unscale_factor, out.dtype),
                *operands,
                *result,
            )
            accumulate = True

    return multiply


def setup(
    problem: Problem, *, math: Literal["float16", "bfloat16", "tf32x3"], conversion: Literal["timed", "ahead"] = "timed"
) -> Run:
    """The timed product, with the conversion of its operands if `conversion` = timed."""
    (a, convert_a), (b, convert_b) = (allocate_parts(array, math) for array in (problem.a, problem.b))
    multiply = product_of_parts(problem.sizes["form"], math)
    convert = [("convert", lambda: (convert_a(), convert_b()))]
    run = [("product", lambda: multiply(a, b, problem.out, problem.c))]
    return Steps(run=run, prepare=convert) if conversion == "ahead" else Steps(run=convert + run)
