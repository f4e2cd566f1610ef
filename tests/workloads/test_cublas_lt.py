"""gemm/cublas_lt without a GPU: a stand-in for cuBLASLt checks every argument, and NumPy computes its products."""

import ctypes
import itertools
import math
from types import SimpleNamespace

import numpy as np
import pytest

import call_log
import kernel_cases
from ladder import cuda
from ladder.catalogue import traits, workloads
from ladder.cuda import clock, cublas_lt, gpus
from ladder.errors import LadderError
from ladder.harness import validation, worker
from ladder.workloads import gemm
from ladder.workloads.gemm import cublas_lt as variant

FORMS = ("nn", "tn", "nt")
SIDES = (1, 17, 65)
HANDLE, STREAM = 4096, 77  # made-up values of the pointers to cuBLASLt's handle and to the stream
INVALID, NOT_SUPPORTED = 7, 15  # statuses of cuBLAS
LAST_WORD = 7  # of an algorithm, eight opaque words; the stand-in writes the algorithm's number there
CTYPES = {0: ctypes.c_float, 1: ctypes.c_double}  # of CUDA_R_32F and CUDA_R_64F
# Of the descriptors that have attributes: {number of an attribute in cublasLt.h: (name, type)}.
ATTRIBUTES = {
    "MatmulDesc": {3: ("transposed a", ctypes.c_int32), 4: ("transposed b", ctypes.c_int32)},
    "MatmulPreference": {1: ("workspace", ctypes.c_uint64)}
    | {5 + number: (f"alignment {name}", ctypes.c_uint32) for number, name in enumerate("abcd")},
}


def value_at(reference, kind):
    """The value behind the result of ctypes.byref or a pointer."""
    return ctypes.cast(reference, ctypes.POINTER(kind)).contents.value


class Library:
    """A stand-in for cuBLASLt. It proposes the algorithms `states`, {algorithm: status}, and refuses those `refused`.

    `calls` has the algorithm of every product.
    """

    def __init__(self, states, refused=()):
        self.states, self.refused = states, refused
        self.descriptors, self.calls = {}, []

    def __getitem__(self, name):
        for kind, verb in itertools.product(("MatrixLayout", *ATTRIBUTES), ("Create", "Destroy", "SetAttribute")):
            if name == f"cublasLt{kind}{verb}":
                return lambda *arguments: getattr(self, verb)(kind, *arguments)
        return getattr(self, name.removeprefix("cublasLt"))

    def Create(self, kind, result, *arguments):
        result._obj.value = number = len(self.descriptors) + 1
        values = [argument.value for argument in arguments]
        self.descriptors[number] = SimpleNamespace(kind=kind, arguments=values, attributes={})
        return 0

    def Destroy(self, kind, pointer):
        assert self.descriptors.pop(pointer.value).kind == kind
        return 0

    def SetAttribute(self, kind, pointer, attribute, value, size):
        name, ctype = ATTRIBUTES[kind][attribute.value]
        assert size.value == ctypes.sizeof(ctype)
        self.descriptor_of(kind, pointer).attributes[name] = value_at(value, ctype)
        return 0

    def descriptor_of(self, kind, pointer):
        """The descriptor at a pointer, which must exist and be of this kind."""
        assert self.descriptors[pointer.value].kind == kind
        return self.descriptors[pointer.value]

    def shapes(self, operation, layouts):
        """Check that the matrices of an operation fit; returns the type and whether a and b are transposed."""
        attributes = self.descriptor_of("MatmulDesc", operation).attributes
        transposed = attributes["transposed a"], attributes["transposed b"]
        kinds, *sides = zip(*(self.descriptor_of("MatrixLayout", layout).arguments for layout in layouts), strict=True)
        (scale_kind,) = {self.descriptor_of("MatmulDesc", operation).arguments[1], *kinds}
        rows, columns, leading = sides
        assert all(row <= lead for row, lead in zip(rows, leading, strict=True))
        (a, b, c, d), flips = zip(rows, columns, strict=True), transposed
        (m, k), (same_k, n) = (side[::-1] if flip else side for side, flip in zip((a, b), flips, strict=True))
        assert (k, c, d) == (same_k, (m, n), (m, n))
        return scale_kind, transposed

    def MatmulAlgoGetHeuristic(self, handle, operation, *arguments):
        *layouts, preference, max_count, results, count = arguments
        assert handle.value == HANDLE
        self.shapes(operation, layouts)
        self.preference = self.descriptor_of("MatmulPreference", preference).attributes
        proposals = [*self.states.items()][: max_count.value]
        for result, (algorithm, state) in zip(results, proposals, strict=False):
            result.algorithm[LAST_WORD], result.state = algorithm, state
        count._obj.value = len(proposals)
        return 0

    def Matmul(self, handle, operation, alpha, *arguments):
        a, a_layout, b, b_layout, beta, c, c_layout, d, d_layout, *rest = arguments
        algorithm, workspace, workspace_size, stream = rest
        assert (handle.value, stream.value) == (HANDLE, STREAM)
        assert workspace.value % cublas_lt.MAX_ALIGNMENT == 0
        assert workspace_size.value == self.preference["workspace"]
        layouts = a_layout, b_layout, c_layout, d_layout
        kind, transposed = self.shapes(operation, layouts)
        for pointer, name in zip((a, b, c, d), "abcd", strict=True):
            assert pointer.value % self.preference[f"alignment {name}"] == 0
        number = ctypes.cast(algorithm, ctypes.POINTER(ctypes.c_uint64))[LAST_WORD]
        self.calls.append(number)
        if number in self.refused:
            return NOT_SUPPORTED
        a, b, c, d = map(self.matrix, (a, b, c, d), layouts)
        a, b = (matrix.T if flip else matrix for matrix, flip in zip((a, b), transposed, strict=True))
        scaled = value_at(beta, CTYPES[kind]) * c if value_at(beta, CTYPES[kind]) else 0  # else c isn't read
        d[...] = value_at(alpha, CTYPES[kind]) * (a @ b) + scaled
        return 0

    def matrix(self, pointer, layout):
        """A column-major matrix at an address."""
        kind, rows, columns, leading = self.descriptor_of("MatrixLayout", layout).arguments
        elements = (CTYPES[kind] * (leading * columns)).from_address(pointer.value)
        return np.ctypeslib.as_array(elements).reshape(columns, leading)[:, :rows].T


def empty_aligned(shape, dtype):
    """An array whose address is a multiple of 256 bytes, as CuPy's are; its bytes are 255, so its numbers NaN."""
    size = math.prod(shape if isinstance(shape, tuple) else (shape,)) * np.dtype(dtype).itemsize
    buffer = np.full(size + cublas_lt.MAX_ALIGNMENT, 255, np.uint8).view(call_log.Array)
    start = -buffer.data.ptr % cublas_lt.MAX_ALIGNMENT
    return buffer[start : start + size].view(dtype).reshape(shape)


@pytest.fixture
def replace_library(monkeypatch):
    """A function that replaces cuBLASLt by a Library, and the GPU's clock by seconds, {algorithm: [seconds, ...]}."""

    def replace(library, seconds=None):
        times = {algorithm: itertools.cycle(values) for algorithm, values in (seconds or {}).items()}

        def stopwatch(run):
            run()
            return next(times[library.calls[-1]]) if times else 1.0

        stream = SimpleNamespace(get_current_stream=lambda: SimpleNamespace(ptr=STREAM))
        stream.Device = lambda: SimpleNamespace(id=0)
        monkeypatch.setattr(gpus, "load_cupy", lambda: SimpleNamespace(cuda=stream))
        monkeypatch.setattr(cublas_lt, "library", lambda: library)
        monkeypatch.setattr(cublas_lt, "handle_on", lambda gpu: ctypes.c_void_p(HANDLE))
        monkeypatch.setattr(clock, "stopwatch", stopwatch)
        monkeypatch.setattr(cuda, "empty", empty_aligned)
        return library

    return replace


def problem_of(round=0, **sizes):
    """A problem on aligned arrays, with filled inputs and outputs of NaN."""
    case = kernel_cases.case("gemm", "cublas_lt", {}, **sizes)
    problem = worker.make_problem(gemm, case, SimpleNamespace(empty=empty_aligned, is_first=lambda: True))
    gemm.fill(problem.inputs, problem.sizes, round, None)
    validation.poison(problem.outputs)
    return problem


def is_right(problem, round, precision):
    arguments = problem.sizes, problem.inputs, problem.outputs, round, None, None, precision
    return all(check.passed for check in gemm.check(*arguments)[0])


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("form", FORMS)
def test_products_are_right_at_odd_shapes_and_inputs_stay(replace_library, form, dtype):
    for m, n, k in itertools.product(SIDES, repeat=3):
        library = replace_library(Library({1: 0}))
        problem = problem_of(form=form, m=m, n=n, k=k, dtype=dtype)
        run = variant.setup(problem)
        for round in range(gemm.rounds(problem.sizes)):
            gemm.fill(problem.inputs, problem.sizes, round, None)
            validation.poison(problem.outputs)
            before = {name: array.copy() for name, array in problem.inputs.items()}
            run()
            assert is_right(problem, round, dtype), (m, n, k, round)
            assert all(np.array_equal(array, before[name]) for name, array in problem.inputs.items())
        assert library.preference["workspace"] == 32 * 2**20  # bytes that the variant offers to cuBLASLt


@pytest.mark.parametrize(("c_is", "times_added"), [("missing", 0), ("another", 1), ("the result", 1)])
def test_an_addend_may_be_missing_or_the_result(replace_library, c_is, times_added):
    replace_library(Library({1: 0}))
    a, b, d = (empty_aligned(shape, "float32") for shape in ((17, 5), (5, 3), (17, 3)))
    other = empty_aligned((17, 3), "float32")
    a[...], b[...], d[...], other[...] = 1, 2, 100, 100
    c = {"missing": None, "another": other, "the result": d}[c_is]
    (run,) = cublas_lt.products(b, a, c, d, (False, False), "default", empty_aligned((1024,), "uint8"), 10)
    run()
    assert np.array_equal(d, np.full((17, 3), 10 + 100 * times_added))
    assert np.array_equal(other, np.full((17, 3), 100))


def test_alignments_are_those_of_the_arrays(replace_library):
    library = replace_library(Library({1: 0}))
    arrays = [empty_aligned((9,), "float32")[start:][:6].reshape(2, 3) for start in (1, 2)]
    square, result = empty_aligned((3, 3), "float32"), empty_aligned((2, 3), "float32")
    cublas_lt.products(
        square, arrays[0], arrays[1], result, (False, False), "default", empty_aligned((8,), "uint8"), 10
    )
    assert {name: library.preference[f"alignment {name}"] for name in "abcd"} == {"a": 256, "b": 4, "c": 8, "d": 256}


@pytest.mark.parametrize(
    ("dtype", "arithmetic", "compute_type", "scale_type"),
    [
        ("float64", "default", 70, 1),  # CUBLAS_COMPUTE_64F and CUDA_R_64F
        ("float64", "tf32", 70, 1),
        ("float32", "default", 68, 0),  # CUBLAS_COMPUTE_32F and CUDA_R_32F
        ("float32", "tf32", 77, 0),  # CUBLAS_COMPUTE_32F_FAST_TF32
    ],
)
def test_the_arithmetic_is_that_of_the_tuning(replace_library, dtype, arithmetic, compute_type, scale_type):
    library = replace_library(Library({1: 0}))
    run = variant.setup(problem_of(m=3, n=2, k=5, dtype=dtype), math=arithmetic)
    operations = [descriptor for descriptor in library.descriptors.values() if descriptor.kind == "MatmulDesc"]
    assert [operation.arguments for operation in operations] == [[compute_type, scale_type]]
    del run  # which has kept the descriptors until here


def test_the_lowest_median_decides_and_what_fails_is_skipped(replace_library):
    seconds = {2: [1.0, 1.0, 9.0, 9.0, 9.0], 3: [3.0, 3.0, 3.0, 3.0, 90.0], 5: [4.0]}
    library = replace_library(Library({1: INVALID, 2: 0, 3: 0, 4: 0, 5: 0}, refused=[4]), seconds)
    problem = problem_of(m=3, n=2, k=5)
    run = variant.setup(problem)
    assert library.calls == [2, 3, 4, 5] + [2, 3, 5] * variant.RUNS
    library.calls.clear()
    validation.poison(problem.outputs)
    run()
    assert library.calls == [3]
    assert is_right(problem, 0, "float64")


def test_at_most_ten_algorithms_are_measured(replace_library):
    library = replace_library(Library(dict.fromkeys(range(1, 20), 0)))
    variant.setup(problem_of(m=3, n=2, k=5))
    assert set(library.calls) == set(range(1, 11))


@pytest.mark.parametrize(
    ("states", "refused", "words"),
    [
        ({}, [], r"no algorithm for a product of arrays \(5, 2\), \(3, 5\), \(3, 2\) in float64, math=default"),
        ({1: INVALID}, [], "no algorithm for a product of arrays"),
        ({1: 0, 2: 0}, [1, 2], "None of the 2 algorithms .* refuses cublasLtMatmul with status 15"),
    ],
)
def test_without_an_algorithm_there_is_an_error(replace_library, states, refused, words):
    replace_library(Library(states, refused))
    with pytest.raises(LadderError, match=words):
        variant.setup(problem_of(m=3, n=2, k=5))


def test_descriptors_live_as_long_as_the_product(replace_library):
    library = replace_library(Library({1: 0, 2: 0}))
    run = variant.setup(problem_of(m=3, n=2, k=5))
    kinds = sorted(descriptor.kind for descriptor in library.descriptors.values())
    assert kinds == ["MatmulDesc"] + ["MatrixLayout"] * 4
    del run
    assert library.descriptors == {}


@pytest.mark.gpu
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("dtype", "arithmetic"), [("float64", "default"), ("float32", "default"), ("float32", "tf32")])
@pytest.mark.parametrize("shape", [*itertools.product(SIDES, repeat=3), (100, 300, 784), (257, 130, 33)], ids=str)
def test_products_are_right_on_a_gpu(form, dtype, arithmetic, shape):
    m, n, k = shape
    case = kernel_cases.case("gemm", "cublas_lt", {"math": arithmetic}, form=form, m=m, n=n, k=k, dtype=dtype)
    assert traits.precision(case) == (dtype if arithmetic == "default" else arithmetic)
    for round in (0, 1):
        validation.require(kernel_cases.run_checks(kernel_cases.solve(case, round), case, round), case.key)


@pytest.mark.gpu
def test_a_product_is_captured_in_a_graph():
    case = kernel_cases.case("gemm", "cublas_lt", {}, form="nt", m=65, n=17, k=33)
    problem = kernel_cases.solve(case)
    cupy = cuda.load_cupy()
    stream = cupy.cuda.Stream(non_blocking=True)
    launch = cuda.capture(workloads.load_variant("gemm", "cublas_lt").setup(problem), stream)
    validation.poison(problem.outputs)
    gpus.synchronize()
    with stream:
        launch()
    gpus.synchronize()
    validation.require(kernel_cases.run_checks(problem, case), case.key)
