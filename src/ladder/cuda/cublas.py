"""cuBLAS called through ctypes, because CuPy's calls of it can't be captured in a CUDA graph."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ladder.cuda import gpus
from ladder.errors import LadderError

if TYPE_CHECKING:
    import numpy as np

MATH = {"default": 0, "tf32": 3}  # CUBLAS_DEFAULT_MATH, CUBLAS_TF32_TENSOR_OP_MATH
ALLOC_FAILED = 3  # CUBLAS_STATUS_ALLOC_FAILED


@functools.cache
def library() -> ctypes.CDLL:
    """The cuBLAS that CuPy uses."""
    from cuda.pathfinder import load_nvidia_dynamic_lib

    return ctypes.CDLL(load_nvidia_dynamic_lib("cublas").abs_path)


def call(name: str, *arguments: Any) -> None:
    """Call a function of cuBLAS. Raises MemoryError if the GPU is out of memory, LadderError if it fails otherwise."""
    bind(name, *arguments)()


def bind(name: str, *arguments: Any) -> Callable:
    """A function that calls a function of cuBLAS with these arguments, as `call` does."""
    function = library()[name]

    def run() -> None:
        status = function(*arguments)
        if status == ALLOC_FAILED:
            raise MemoryError(f"{name} is out of memory")
        if status:
            raise LadderError(f"cuBLAS refuses {name} with status {status}.")

    return run


def handle(math: str = "default") -> ctypes.c_void_p:
    """The current GPU's handle for an arithmetic of MATH. Scalars are read from host memory, cuBLAS's default."""
    return handle_on(gpus.load_cupy().cuda.Device().id, math)


@functools.cache
def handle_on(gpu: int, math: str) -> ctypes.c_void_p:
    """A handle of the GPU with this number, which must be current."""
    result = ctypes.c_void_p()
    gpus.load_cupy().cuda.runtime.free(0)  # makes CUDA's context current
    call("cublasCreate_v2", ctypes.byref(result))
    call("cublasSetMathMode", result, MATH[math])
    return result


def use_current_stream(handle: ctypes.c_void_p) -> None:
    """Have calls with a handle run in CuPy's current stream."""
    call("cublasSetStream_v2", handle, ctypes.c_void_p(gpus.load_cupy().cuda.get_current_stream().ptr))


def pointer(array: Any) -> ctypes.c_void_p:
    """The address of an array."""
    return ctypes.c_void_p(array.data.ptr)


def scalar_pointer(value: float, dtype: np.dtype) -> Any:
    """The address of a scalar in host memory, such as alpha, in the dtype of the arrays."""
    return ctypes.byref({"float64": ctypes.c_double, "float32": ctypes.c_float}[dtype.name](value))
