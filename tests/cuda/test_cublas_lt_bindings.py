"""The bindings of cuBLASLt: its headers, the descriptors of the library itself, and its errors."""

import ctypes
import gc
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from ladder.cuda import cublas, cublas_lt
from ladder.errors import LadderError

HEADERS = [Path(folder, "nvidia/cu13/include/cublasLt.h") for folder in sys.path]
LIBRARIES = [Path(folder, "nvidia/cu13/lib/libcublasLt.so.13") for folder in sys.path]
INVALID_VALUE = 7  # CUBLAS_STATUS_INVALID_VALUE
# {a name or an expression of the headers: its value in the bindings}.
VALUES = {
    "CUDA_R_64F": cublas_lt.TYPES["float64"],
    "CUDA_R_32F": cublas_lt.TYPES["float32"],
    "CUBLAS_COMPUTE_64F": cublas_lt.COMPUTE_TYPES["float64", "default"],
    "CUBLAS_COMPUTE_32F": cublas_lt.COMPUTE_TYPES["float32", "default"],
    "CUBLAS_COMPUTE_32F_FAST_TF32": cublas_lt.COMPUTE_TYPES["float32", "tf32"],
    "CUBLAS_OP_N": cublas_lt.OPERATIONS[False],
    "CUBLAS_OP_T": cublas_lt.OPERATIONS[True],
    "CUBLASLT_MATMUL_DESC_TRANSA": cublas_lt.TRANSPOSITIONS[0],
    "CUBLASLT_MATMUL_DESC_TRANSB": cublas_lt.TRANSPOSITIONS[1],
    "CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES": cublas_lt.MAX_WORKSPACE,
    **{
        f"CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_{name}_BYTES": cublas_lt.MIN_ALIGNMENTS["ABCD".index(name)]
        for name in "ABCD"
    },
    "CUBLAS_STATUS_SUCCESS": 0,
    "CUBLAS_STATUS_ALLOC_FAILED": cublas.ALLOC_FAILED,
    "sizeof(cublasLtMatmulAlgo_t)": cublas_lt.Heuristic.algorithm.size,
    "sizeof(cublasLtMatmulHeuristicResult_t)": ctypes.sizeof(cublas_lt.Heuristic),
    **{
        f"offsetof(cublasLtMatmulHeuristicResult_t, {field})": getattr(cublas_lt.Heuristic, name).offset
        for name, field in {
            "algorithm": "algo",
            "workspace_bytes": "workspaceSize",
            "state": "state",
            "waves": "wavesCount",
            "reserved": "reserved",
        }.items()
    },
    **{f"sizeof({name})": 4 for name in ("cudaDataType_t", "cublasComputeType_t", "cublasOperation_t")},
    **{f"sizeof(cublasLt{name}_t)": 4 for name in ("MatmulDescAttributes", "MatmulPreferenceAttributes")},
}
# The functions with the types that the bindings pass; the compiler refuses a difference from the headers.
FUNCTIONS = """
cublasStatus_t (*create)(cublasLtHandle_t *) = cublasLtCreate;
cublasStatus_t (*create_layout)(cublasLtMatrixLayout_t *, cudaDataType, uint64_t, uint64_t, int64_t) =
    cublasLtMatrixLayoutCreate;
cublasStatus_t (*destroy_layout)(cublasLtMatrixLayout_t) = cublasLtMatrixLayoutDestroy;
cublasStatus_t (*create_operation)(cublasLtMatmulDesc_t *, cublasComputeType_t, cudaDataType_t) =
    cublasLtMatmulDescCreate;
cublasStatus_t (*destroy_operation)(cublasLtMatmulDesc_t) = cublasLtMatmulDescDestroy;
cublasStatus_t (*set_operation)(cublasLtMatmulDesc_t, cublasLtMatmulDescAttributes_t, const void *, size_t) =
    cublasLtMatmulDescSetAttribute;
cublasStatus_t (*create_preference)(cublasLtMatmulPreference_t *) = cublasLtMatmulPreferenceCreate;
cublasStatus_t (*destroy_preference)(cublasLtMatmulPreference_t) = cublasLtMatmulPreferenceDestroy;
cublasStatus_t (*set_preference)(cublasLtMatmulPreference_t, cublasLtMatmulPreferenceAttributes_t, const void *,
                                 size_t) = cublasLtMatmulPreferenceSetAttribute;
cublasStatus_t (*propose)(cublasLtHandle_t, cublasLtMatmulDesc_t, cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                          cublasLtMatrixLayout_t, cublasLtMatrixLayout_t, cublasLtMatmulPreference_t, int,
                          cublasLtMatmulHeuristicResult_t *, int *) = cublasLtMatmulAlgoGetHeuristic;
cublasStatus_t (*multiply)(cublasLtHandle_t, cublasLtMatmulDesc_t, const void *, const void *, cublasLtMatrixLayout_t,
                           const void *, cublasLtMatrixLayout_t, const void *, const void *, cublasLtMatrixLayout_t,
                           void *, cublasLtMatrixLayout_t, const cublasLtMatmulAlgo_t *, void *, size_t,
                           cudaStream_t) = cublasLtMatmul;
"""


def existing(paths):
    return [path for path in paths if path.exists()]


@pytest.mark.skipif(
    not (shutil.which("nvcc") and existing(HEADERS)), reason="requires nvcc and the package nvidia-cublas"
)
def test_constants_structures_and_functions_are_those_of_the_headers(tmp_path):
    asserts = (f'_Static_assert({name} == {value}, "{name} is not {value}");' for name, value in VALUES.items())
    source = tmp_path / "values.c"
    source.write_text("\n".join(["#include <cublasLt.h>", "#include <stddef.h>", *asserts, FUNCTIONS]))
    # The other headers are those of nvcc, which come first.
    options = ["-Xcompiler", f"-Werror,-idirafter,{existing(HEADERS)[0].parent}", "-o", tmp_path / "values.o"]
    compiled = subprocess.run(["nvcc", "-c", *options, source], capture_output=True, text=True)
    assert compiled.returncode == 0, compiled.stderr


@pytest.mark.skipif(not existing(LIBRARIES), reason="requires the package nvidia-cublas")
def test_the_library_takes_descriptors_without_a_gpu(monkeypatch):
    """It refuses an attribute of another size, which shows that the bindings pass the sizes that it expects."""
    library = ctypes.CDLL(existing(LIBRARIES)[0])
    monkeypatch.setattr(cublas_lt, "library", lambda: library)
    types = cublas_lt.COMPUTE_TYPES["float32", "default"], cublas_lt.TYPES["float32"]
    operation, preference = cublas_lt.create("MatmulDesc", *types), cublas_lt.create("MatmulPreference")
    for attribute in cublas_lt.TRANSPOSITIONS:
        cublas_lt.set_attribute("MatmulDesc", operation, attribute, ctypes.c_int32(1))
    cublas_lt.set_attribute("MatmulPreference", preference, cublas_lt.MAX_WORKSPACE, ctypes.c_uint64(2**25))
    setter = "cublasLtMatmulPreferenceSetAttribute"
    for attribute in cublas_lt.MIN_ALIGNMENTS:
        cublas_lt.set_attribute("MatmulPreference", preference, attribute, ctypes.c_uint32(16))
        with pytest.raises(LadderError, match=f"cuBLASLt refuses {setter} with status {INVALID_VALUE}"):
            cublas_lt.set_attribute("MatmulPreference", preference, attribute, ctypes.c_uint64(16))
    layout = cublas_lt.layout(SimpleNamespace(shape=(17, 65), dtype=SimpleNamespace(name="float64")))
    # Attributes CUBLASLT_MATRIX_LAYOUT_TYPE, …_ORDER (0: column-major), …_ROWS, …_COLS and …_LD. A row-major array of
    # NumPy is its transpose in column-major order.
    for attribute, c_type, expected in (
        (0, ctypes.c_uint32, cublas_lt.TYPES["float64"]),
        (1, ctypes.c_int32, 0),
        (2, ctypes.c_uint64, 65),
        (3, ctypes.c_uint64, 17),
        (4, ctypes.c_int64, 65),
    ):
        value, size = c_type(), ctypes.c_size_t()
        arguments = attribute, ctypes.byref(value), ctypes.c_size_t(ctypes.sizeof(value)), ctypes.byref(size)
        assert library.cublasLtMatrixLayoutGetAttribute(layout, *arguments) == 0
        assert value.value == expected


@pytest.mark.parametrize("address", [256, 264, 4096 + 8, 2**40 + 512, 48])
def test_an_alignment_is_the_largest_power_of_two_up_to_256(address):
    expected = max(2**power for power in range(9) if address % 2**power == 0)
    assert cublas_lt.alignment(SimpleNamespace(data=SimpleNamespace(ptr=address))) == expected


@pytest.mark.parametrize(("status", "error"), [(cublas.ALLOC_FAILED, MemoryError), (INVALID_VALUE, LadderError)])
def test_a_failure_is_an_error_that_names_the_function(monkeypatch, status, error):
    monkeypatch.setattr(cublas_lt, "library", lambda: {"cublasLtMatmul": lambda: status})
    with pytest.raises(error, match="cublasLtMatmul"):
        cublas_lt.call("cublasLtMatmul")


def test_a_descriptor_is_destroyed_with_its_object(monkeypatch):
    destroyed = []

    def create(result, size):
        result._obj.value = size
        return 0

    functions = {"cublasLtThingCreate": create, "cublasLtThingDestroy": lambda thing: destroyed.append(thing.value)}
    monkeypatch.setattr(cublas_lt, "library", lambda: functions)
    thing = cublas_lt.create("Thing", 5)
    assert (thing.value, destroyed) == (5, [])
    del thing
    gc.collect()
    assert destroyed == [5]
