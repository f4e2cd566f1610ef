"""The solve by cuBLAS: a matrix-vector product (`product` = gemv, or symv of one triangle), dot, axpy and scal.

Scalars stay on the GPU (CUBLAS_POINTER_MODE_DEVICE), where kernels of one thread compute with them, so that the host
doesn't synchronise in an iteration. The host launches all iterations; those after the end of a solve have no effect but
take time. `batch` is the number of iterations between two checks by the host whether the solve has ended; with 0, it
doesn't check. With `graph` on, these iterations, or all, are one CUDA graph. Large systems are memory-bound, small ones
bound by the latency of dependent kernels, at least seven per iteration.
"""

import ctypes
import functools
from typing import Literal

import numpy as np

from ladder import cuda
from ladder.cuda.cublas import bind, call, pointer, scalar_pointer, use_current_stream
from ladder.cuda.cublas import handle as host_scalar_handle
from ladder.harness.contract import Problem, Run
from ladder.harness.steps import chain_steps
from ladder.workloads.gemv import cublas as gemv

DEVICE = "cuda"
RUNTIME = "cuda"
REQUIRES = ("cupy",)
SOURCE = "cublas.cu"
MACROS = ()  # no tuning is a macro of the source
LIMITS = {"algorithm": ("steepest", "cg", "jacobi")}
INCREMENT = ctypes.c_int64(1)
LOWER = ctypes.c_int(0)  # CUBLAS_FILL_MODE_LOWER
BLOCK = 256
# The members of Scalars in cublas.cu.
SCALARS = ("one", "pq", "rr", "rz", "previous_rr", "previous_rz", "alpha", "minus_alpha", "beta")


@functools.cache
def device_scalar_handle():
    """A cuBLAS handle whose calls take scalars from the GPU's memory and write results to it."""
    host_scalar_handle()  # makes CUDA's context current
    result = ctypes.c_void_p()
    call("cublasCreate_v2", ctypes.byref(result))
    call("cublasSetPointerMode_v2", result, ctypes.c_int(1))  # CUBLAS_POINTER_MODE_DEVICE
    return result


def routine_name(function, dtype):
    """cuBLAS's name of a function for a dtype, with 64-bit counts."""
    return f"cublas{'S' if dtype == np.float32 else 'D'}{function}_v2_64"


def symmetric_product(matrix, v, out):
    """Like `gemv.cublas.product`, but reads only the upper triangle, which is the lower one in column-major order."""
    n, dtype = ctypes.c_int64(len(v)), v.dtype
    operands = pointer(matrix), n, pointer(v), INCREMENT, scalar_pointer(0, dtype), pointer(out), INCREMENT
    symv = bind(routine_name("symv", dtype), host_scalar_handle(), LOWER, n, scalar_pointer(1, dtype), *operands)
    return functools.partial(gemv.multiply, [symv], (matrix, v, out))


def bound_calls(problem, product):
    """Two lists of functions: the start of a solve, and an iteration; `product` is like `gemv.cublas.product`."""
    sizes, x, dtype, n = problem.sizes, problem.x, problem.x.dtype, len(problem.x)
    is_preconditioned = sizes["algorithm"] == "jacobi"
    empty = functools.partial(problem.device.empty, (n,), dtype)
    r, q = empty(), empty()
    z = empty() if is_preconditioned else r
    p = z if sizes["algorithm"] == "steepest" else empty()
    scalars = problem.device.empty((len(SCALARS),), dtype)
    scalar_views = {name: scalars[index : index + 1] for index, name in enumerate(SCALARS)}
    rz = scalar_views["rz" if is_preconditioned else "rr"]
    iterations, tolerance = np.int64(sizes["iterations"]), np.float64(sizes["tolerance"])

    def bound_blas(name, *operands):
        operands = (operand if operand is INCREMENT else pointer(operand) for operand in operands)
        return bind(routine_name(name, dtype), device_scalar_handle(), ctypes.c_int64(n), *operands)

    def bound_kernel(name, *arguments, threads=1):
        kernel = cuda.kernel("descent", "cublas", name, dtype.name)
        return functools.partial(kernel, (-(-threads // BLOCK),), (min(threads, BLOCK),), arguments)

    def dot(v, w, out):
        return bound_blas("dot", v, INCREMENT, w, INCREMENT, scalar_views[out])

    def axpy(factor, v, w):
        return bound_blas("axpy", scalar_views[factor], v, INCREMENT, w, INCREMENT)

    dots = [dot(r, r, "rr")]
    precondition = []
    if is_preconditioned:
        dots.append(dot(r, z, "rz"))
        precondition.append(bound_kernel("divide_by_diagonal", problem.matrix, r, z, np.int64(n), threads=n))
    arrays = problem.matrix, problem.b, x, r, z, p, problem.history, problem.steps
    stop_arguments = problem.history, problem.steps, iterations, tolerance
    start = [
        bound_kernel("begin_vectors", *arrays, np.int64(n), iterations, np.int32(is_preconditioned), threads=n),
        *dots,
        bound_kernel("begin_scalars", scalars, rz, problem.history),
    ]
    iteration = [
        product(problem.matrix, p, q),
        dot(p, q, "pq"),
        bound_kernel("step_length", scalars, *stop_arguments),
        axpy("alpha", p, x),
        axpy("minus_alpha", q, r),
        *precondition,
        *dots,
        bound_kernel("update_scalars", scalars, rz, *stop_arguments),
    ]
    if p is not z:
        iteration += [bound_blas("scal", scalar_views["beta"], p, INCREMENT), axpy("one", z, p)]
    return start, iteration


def setup(
    problem: Problem, *, product: Literal["gemv", "symv"] = "gemv", graph: Literal["off", "on"] = "off", batch: int = 0
) -> Run:
    """The timed solve."""
    products = {"gemv": gemv.product, "symv": symmetric_product}
    start_calls, iteration_calls = bound_calls(problem, products[product])
    iterations = problem.sizes["iterations"]
    iterations_per_launch = min(batch or iterations, iterations)

    def in_current_stream(calls):
        functions = [lambda: use_current_stream(device_scalar_handle()), *calls]
        return chain_steps([(None, function) for function in functions])

    start, iterate = in_current_stream(start_calls), in_current_stream(iteration_calls * iterations_per_launch)
    if graph == "on":
        # `capture` first calls its function once. The call of `start` sets up the arrays that `iterate` reads.
        stream = cuda.load_cupy().cuda.Stream(non_blocking=True)
        start, iterate = cuda.capture(start, stream), cuda.capture(iterate, stream)

    def solve():
        start()
        for iterations_launched in range(
            iterations_per_launch, iterations + iterations_per_launch, iterations_per_launch
        ):
            iterate()
            if batch and int(problem.steps[0]) < iterations_launched:
                return

    return solve
