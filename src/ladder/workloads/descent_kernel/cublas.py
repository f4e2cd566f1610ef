"""The kernels by cuBLAS, all except `init` and `hash`.

`product` is cuBLAS's product with a diagonal matrix (dgmm), `reduction` its product with a vector of ones, and `scale`,
`vecdif` and `vecsum` are its sum of matrices (geam). The variant is memory-bound, or for small n bound by the launch
latency.
"""

import ctypes
from functools import partial

from ladder.cuda.cublas import bind, handle, pointer, scalar_pointer
from ladder.harness.contract import Problem, Run
from ladder.workloads.descent_kernel import ALPHA
from ladder.workloads.gemv.cublas import multiply, product

DEVICE = "cuda"
RUNTIME = "cuda"
REQUIRES = ("cupy",)
LIMITS = {"kernel": ("product", "reduction", "transpose", "scale", "vecdif", "vecsum", "gemv", "dot")}
LETTERS = {"float32": "S", "float64": "D"}
LEFT, NO_TRANSPOSE = ctypes.c_int(0), ctypes.c_int(0)  # CUBLAS_SIDE_LEFT, CUBLAS_OP_N
ON_HOST, ON_DEVICE = ctypes.c_int(0), ctypes.c_int(1)  # CUBLAS_POINTER_MODE_...
INCREMENT = ctypes.c_int64(1)
ONE_COLUMN = ctypes.c_int64(1)


def setup(problem: Problem) -> Run:
    """The timed call or calls of the case's kernel."""
    kernel, out = problem.sizes["kernel"], problem.out
    if kernel == "gemv":
        return product(problem.matrix, problem.x, out)
    if kernel == "reduction":
        ones = problem.device.empty((problem.sizes["n"],), out.dtype)
        ones.fill(1)
        return product(problem.matrix, ones, out)
    return partial(multiply, calls(kernel, out, *problem.inputs.values()), (*problem.inputs.values(), out))


def calls(kernel, out, x, y=None):
    """The calls of a kernel on these operands, in order."""
    prefix, n = f"cublas{LETTERS[out.dtype.name]}", ctypes.c_int64(x.shape[0])
    match kernel:
        case "product":  # cuBLAS sees a row-major matrix as its transpose
            operands = (pointer(x), n, pointer(y), INCREMENT, pointer(out), n)
            return [bind(f"{prefix}dgmm_64", handle(), LEFT, n, n, *operands)]
        case "transpose":
            return [bind(f"{prefix}copy_v2_64", handle(), n, pointer(x), INCREMENT, pointer(out), INCREMENT)]
        case "dot":
            set_pointer_mode = partial(bind, "cublasSetPointerMode_v2", handle())
            operands = (pointer(x), INCREMENT, pointer(y), INCREMENT, pointer(out))
            return [
                set_pointer_mode(ON_DEVICE),
                bind(f"{prefix}dot_v2_64", handle(), n, *operands),
                set_pointer_mode(ON_HOST),
            ]
    alpha, beta = {"scale": (ALPHA, 0), "vecdif": (1, -1), "vecsum": (1, 1)}[kernel]
    alpha, beta = scalar_pointer(alpha, out.dtype), scalar_pointer(beta, out.dtype)
    operands = (alpha, pointer(x), n, beta, pointer(x if y is None else y), n, pointer(out), n)
    return [bind(f"{prefix}geam_64", handle(), NO_TRANSPOSE, NO_TRANSPOSE, n, ONE_COLUMN, *operands)]
