"""The solve by cuBLAS: a matrix-vector product (`product` = gemv, or symv of one triangle), dot, axpy and scal.

Scalars stay on the GPU (CUBLAS_POINTER_MODE_DEVICE), where a kernel of one thread computes with them, so that the host
doesn't synchronise in an iteration. The host launches all iterations; those after the end of a solve have no effect but
take time. With `batch` = k, it checks after every k iterations whether the solve has ended. With `graph` on, these k
iterations, or all, are one CUDA graph. Large systems are memory-bind, small ones bound by the latency of dependent
kernels, at least seven per iteration.
"""

import ctypes
import functools
from typing import Literal

import numpy as np

from ladder import cuda
from ladder.cuda.cublas import bind, call, factor, pointer, use_current_stream
from ladder.cuda.cublas import handle as shared
from ladder.harness.contract import Problem, Run
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
BLOCK = 256
# The members of Scalars in cublas.cu.
SCALARS = ("one", "pq", "rr", "rz", "previous_rr", "previous_rz", "alpha", "minus_alpha", "beta")


@functools.cache
def handle():
    """A cuBLAS handle whose calls take scalars from the GPU's memory and write results to it."""
    shared()  # makes CUDA's context current
    result = ctypes.c_void_p()
    call("cublasCreate_v2", ctypes.byref(result))
    call("cublasSetPointerMode_v2", result, ctypes.c_int(1))  # CUBLAS_POINTER_MODE_DEVICE
    return result


def name_of(function, dtype):
    """cuBLAS's name of a function for a dtype, with 64-bit counts."""
    return f"cublas{'S' if dtype == np.float32 else 'D'}{function}_v2_64"


def symmetric_product(matrix, v, out):
    """Like `gemv.cublas.product`, but reads only the upper triangle, which is the lower one in column-major order."""
    n, dtype = ctypes.c_int64(len(v)), v.dtype
    operands = pointer(matrix), n, pointer(v), ONE, factor(0, dtype), pointer(out), ONE
    symv = bind(name_of("symv", dtype), shared(), LOWER, n, factor(1, dtype), *operands)
    return functools.partial(gemv.multiply, [symv], (matrix, v, out))


def calls(problem, product):
    """Two lists of functions: the start of a solve, and an iteration; `product` is like `gemv.cublas.product`."""
    sizes, x, dtype, n = problem.sizes, problem.x, problem.x.dtype, len(problem.x)
    empty, is_preconditioned = functools.partial(problem.device.empty, (n,), dtype), sizes["algorithm"] == "jacobi"
    r, q = empty(), empty()
    z = empty() if is_preconditioned else r
    p = z if sizes["algorithm"] == "steepest" else empty()
    scalars = problem.device.empty((len(SCALARS),), dtype)
    views = {name: scalars[index : index + 1] for index, name in enumerate(SCALARS)}
    rz = views["rz" if is_preconditioned else "rr"]
    count, limits = np.int64(n), (np.int64(sizes["iterations"]), np.float64(sizes["tolerance"]))

    def blas(name, *operands):
        operands = (operand if operand is ONE else pointer(operand) for operand in operands)
        return bind(name_of(name, dtype), handle(), ctypes.c_int64(n), *operands)

    def launch(name, *arguments, threads=1):
        kernel = cuda.kernel("descent", "cublas", name, dtype.name)
        return functools.partial(kernel, (-(-threads // BLOCK),), (min(threads, BLOCK),), arguments)

    sums = [blas("dot", r, ONE, r, ONE, views["rr"])]
    divide = []
    if is_preconditioned:
        sums.append(blas("dot", r, ONE, z, ONE, rz))
        divide.append(launch("divide", problem.matrix, r, z, count, threads=n))
    arrays = problem.matrix, problem.b, x, r, z, p, problem.history, problem.steps
    begin = [
        launch("begin", *arrays, count, limits[0], np.int32(is_preconditioned), threads=n),
        *sums,
        launch("first_entry", scalars, rz, problem.history),
    ]
    iteration = [
        product(problem.matrix, p, q),
        blas("dot", p, ONE, q, ONE, views["pq"]),
        launch("length", scalars, problem.history, problem.steps, *limits),
        blas("axpy", views["alpha"], p, ONE, x, ONE),
        blas("axpy", views["minus_alpha"], q, ONE, r, ONE),
        *divide,
        *sums,
        launch("advance", scalars, rz, problem.history, problem.steps, *limits),
    ]
    if p is not z:
        iteration += [blas("scal", views["beta"], p, ONE), blas("axpy", views["one"], z, ONE, p, ONE)]
    return begin, iteration


def setup(
    problem: Problem, *, product: Literal["gemv", "symv"] = "gemv", graph: Literal["off", "on"] = "off", batch: int = 0
) -> Run:
    """The timed solve."""
    begin, iteration = calls(problem, {"gemv": gemv.product, "symv": symmetric_product}[product])
    iterations = problem.sizes["iterations"]
    count = min(batch or iterations, iterations)
    start, advance = (
        in_order([("stream", lambda: use_current_stream(handle())), *(("call", function) for function in functions)])
        for functions in (begin, iteration * count)
    )
    if graph == "on":
        # Capturing runs a graph once: the run of the first prepares the state for that of the second.
        stream = cuda.load_cupy().cuda.Stream(non_blocking=True)
        start, advance = cuda.capture(start, stream), cuda.capture(advance, stream)

    def solve():
        start()
        for step in range(count, iterations + count, count):
            advance()
            if batch and int(problem.steps[0]) < step:
                return

    return solve
