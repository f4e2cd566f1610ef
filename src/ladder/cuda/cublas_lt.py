"""cuBLASLt called through ctypes: products by every algorithm that its heuristic proposes.

Names in capitals in comments are those of cublasLt.h, library_types.h and cublas_api.h;
`tests/cuda/test_cublas_lt_bindings.py` compares their values, and the structure, with these headers.
"""

from __future__ import annotations

import ctypes
import functools
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ladder.cuda import gpus
from ladder.cuda.cublas import ALLOC_FAILED, pointer, scalar_pointer
from ladder.errors import LadderError

if TYPE_CHECKING:
    import numpy as np

TYPES = {"float64": 1, "float32": 0}  # cudaDataType_t: CUDA_R_64F, CUDA_R_32F
COMPUTE_TYPES = {  # cublasComputeType_t
    ("float64", "default"): 70,  # CUBLAS_COMPUTE_64F
    ("float32", "default"): 68,  # CUBLAS_COMPUTE_32F
    ("float32", "tf32"): 77,  # CUBLAS_COMPUTE_32F_FAST_TF32
}
OPERATIONS = {False: 0, True: 1}  # cublasOperation_t: CUBLAS_OP_N, CUBLAS_OP_T
# The next three hold the ids of attributes, not their values.
TRANSPOSITIONS = (3, 4)  # CUBLASLT_MATMUL_DESC_TRANSA, CUBLASLT_MATMUL_DESC_TRANSB
MAX_WORKSPACE = 1  # CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES
MIN_ALIGNMENTS = (5, 6, 7, 8)  # CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, …_B_…, …_C_…, …_D_…
MAX_ALIGNMENT = 256  # bytes: the default of these preferences


class Heuristic(ctypes.Structure):
    """A proposal of the heuristic, cublasLtMatmulHeuristicResult_t; its other fields are valid if its state is 0."""

    _fields_ = (
        ("algorithm", ctypes.c_uint64 * 8),  # algo, a cublasLtMatmulAlgo_t
        ("workspace_bytes", ctypes.c_size_t),  # workspaceSize
        ("state", ctypes.c_int),  # a cublasStatus_t
        ("waves", ctypes.c_float),  # wavesCount
        ("reserved", ctypes.c_int * 4),
    )


@functools.cache
def library() -> ctypes.CDLL:
    """The cuBLASLt beside the cuBLAS that CuPy uses."""
    from cuda.pathfinder import load_nvidia_dynamic_lib

    return ctypes.CDLL(load_nvidia_dynamic_lib("cublasLt").abs_path)


def call(name: str, *arguments: Any) -> None:
    """Call a function of cuBLASLt. Raises MemoryError if it is out of memory, LadderError if it fails otherwise."""
    status = library()[name](*arguments)
    if status == ALLOC_FAILED:
        raise MemoryError(f"{name} is out of memory")
    if status:
        raise LadderError(f"cuBLASLt refuses {name} with status {status}.")


@functools.cache
def handle_on(gpu: int) -> ctypes.c_void_p:
    """A handle of the GPU with this number, which must be current."""
    result = ctypes.c_void_p()
    gpus.load_cupy().cuda.runtime.free(0)  # makes CUDA's context current
    call("cublasLtCreate", ctypes.byref(result))
    return result


def create(kind: str, *arguments: Any) -> ctypes.c_void_p:
    """A descriptor of a kind, such as "MatrixLayout"; it is destroyed with the object that is returned."""
    result = ctypes.c_void_p()
    call(f"cublasLt{kind}Create", ctypes.byref(result), *arguments)
    weakref.finalize(result, library()[f"cublasLt{kind}Destroy"], ctypes.c_void_p(result.value))
    return result


def set_attribute(kind: str, descriptor: ctypes.c_void_p, attribute: int, value: Any) -> None:
    """Set an attribute of a descriptor to a value of a type of ctypes, whose size must be the attribute's."""
    size = ctypes.c_size_t(ctypes.sizeof(value))
    call(f"cublasLt{kind}SetAttribute", descriptor, ctypes.c_int(attribute), ctypes.byref(value), size)


def layout(array: Any) -> ctypes.c_void_p:
    """The layout of a column-major matrix: the transpose of a C-contiguous array."""
    rows, columns = array.shape[::-1]
    sides = ctypes.c_uint64(rows), ctypes.c_uint64(columns), ctypes.c_int64(rows)
    return create("MatrixLayout", ctypes.c_int(TYPES[array.dtype.name]), *sides)


def alignment(array: Any) -> int:
    """The largest power of two, at most MAX_ALIGNMENT, that divides an array's address."""
    address: int = array.data.ptr | MAX_ALIGNMENT
    return address & -address


def products(
    a: Any, b: Any, c: Any, d: Any, transposed: tuple[bool, bool], math: str, workspace: Any, max_count: int
) -> list[Callable[[], None]]:
    """Functions that compute d = op(a) op(b) + c in CuPy's current stream, one for each proposed algorithm.

    There are at most `max_count`, in the order of the time that the heuristic expects. All operands are the transposes
    of C-contiguous arrays of one dtype, in which op() transposes a and b if `transposed`; c may be None, or d. `math`
    is default or, for float32, tf32. All functions use `workspace`, an array of bytes; they keep the arrays alive.
    Raises LadderError if there is no algorithm.
    """
    dtype: np.dtype = d.dtype
    arrays = a, b, d if c is None else c, d
    math = "default" if dtype.name == "float64" else math
    compute_type, scale_type = COMPUTE_TYPES[dtype.name, math], TYPES[dtype.name]
    handle = handle_on(gpus.load_cupy().cuda.Device().id)
    operation = create("MatmulDesc", ctypes.c_int(compute_type), ctypes.c_int(scale_type))
    for attribute, is_transposed in zip(TRANSPOSITIONS, transposed, strict=True):
        set_attribute("MatmulDesc", operation, attribute, ctypes.c_int32(OPERATIONS[is_transposed]))
    preference = create("MatmulPreference")
    set_attribute("MatmulPreference", preference, MAX_WORKSPACE, ctypes.c_uint64(workspace.nbytes))
    for attribute, array in zip(MIN_ALIGNMENTS, arrays, strict=True):
        set_attribute("MatmulPreference", preference, attribute, ctypes.c_uint32(alignment(array)))
    layouts = [layout(array) for array in arrays]
    heuristics, count = (Heuristic * max_count)(), ctypes.c_int()
    arguments = ctypes.c_int(max_count), heuristics, ctypes.byref(count)
    call("cublasLtMatmulAlgoGetHeuristic", handle, operation, *layouts, preference, *arguments)

    algorithms = [heuristic.algorithm for heuristic in heuristics[: count.value] if not heuristic.state]
    if not algorithms:
        shapes = ", ".join(str(array.shape) for array in (a, b, d))
        raise LadderError(f"cuBLASLt has no algorithm for a product of arrays {shapes} in {dtype.name}, math={math}.")
    alpha, beta = scalar_pointer(1, dtype), scalar_pointer(c is not None, dtype)

    def run(algorithm: Any) -> None:
        pairs = zip(arrays, layouts, strict=True)
        operands = [argument for array, descriptor in pairs for argument in (pointer(array), descriptor)]
        scratch = pointer(workspace), ctypes.c_size_t(workspace.nbytes)
        stream = ctypes.c_void_p(gpus.load_cupy().cuda.get_current_stream().ptr)
        scaled_operands = alpha, *operands[:4], beta, *operands[4:]
        call("cublasLtMatmul", handle, operation, *scaled_operands, ctypes.byref(algorithm), *scratch, stream)

    return [functools.partial(run, algorithm) for algorithm in algorithms]
