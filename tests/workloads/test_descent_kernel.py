"""Elementary kernels of descent: right at odd sizes, emulated on the CPU and run on a GPU; wrong results noticed."""

import ctypes
import itertools

import numpy as np
import pytest

import emulator
import kernel_cases
from ladder import cuda, devices
from ladder.catalogue import traits, workloads
from ladder.errors import LadderError
from ladder.harness import validation
from ladder.harness.worker import make_problem
from ladder.records.case import Case
from ladder.workloads import descent_kernel
from ladder.workloads.descent_kernel import earlier, passes
from ladder.workloads.gemv import cublas as gemv_by_cublas

HOST = devices.load("host")
pytestmark = pytest.mark.xdist_group("descent_kernels")  # one worker, so that its kernels are compiled once
KERNELS = descent_kernel.SIZES["kernel"]
DTYPES = ("float32", "float64")
SIZES = (1, 2, 16, 17, 32, 65, 144, 512, 1000)
VARIANTS = workloads.variants("descent_kernel")
LOWER_DTYPE = {"float64": np.float32, "float32": np.float16}
VECTOR_KERNELS = ("transpose", "scale", "vecdif", "vecsum")
STUDY_KERNELS = ("init", "product", "reduction", *VECTOR_KERNELS)


def problem_of(kernel, n, dtype, device=HOST, round=0):
    """A filled and poisoned problem."""
    sizes = workloads.complete("descent_kernel", {"kernel": kernel, "n": n, "dtype": dtype})
    problem = make_problem(descent_kernel, Case("descent_kernel", "cublas", sizes, {}), device)
    descent_kernel.fill(problem.inputs, sizes, round, None)
    validation.poison(problem.outputs)
    return problem


def correct_outputs(problem, arithmetic=np.float64, inputs=None):
    """The correct results {output: array} by arithmetic in a dtype, of `inputs` or, by default, of the problem's."""
    kernel, dtype = problem.sizes["kernel"], problem.out.dtype
    inputs = inputs or problem.inputs
    arrays = {name: array if name == "key" else array.astype(arithmetic) for name, array in inputs.items()}
    key, matrix, x, y = (arrays.get(name) for name in ("key", "matrix", "x", "y"))
    n = problem.sizes["n"]
    if kernel == "init":
        return {"out": np.arange(n * n, dtype=np.float64).reshape(n, n).astype(arithmetic)}
    if kernel == "hash":
        elements = descent_kernel.hashed_elements(0, n * n + n, key[0]).astype(arithmetic)
        return {"out": elements[: n * n].reshape(n, n), "b": elements[n * n :]}
    out = {
        "product": lambda: matrix * x,
        "reduction": lambda: matrix.sum(axis=1, dtype=arithmetic),
        "transpose": lambda: x,
        "scale": lambda: dtype.type(descent_kernel.ALPHA).astype(arithmetic) * x,
        "vecdif": lambda: x - y,
        "vecsum": lambda: x + y,
        "gemv": lambda: matrix @ x,
        "dot": lambda: (x @ y).reshape(1),
    }[kernel]()
    return {"out": out}


def write(problem, outputs):
    for name, array in outputs.items():
        problem.outputs[name][...] = array


def is_right(problem, round=0):
    arguments = problem.sizes, problem.inputs, problem.outputs, round, None, None, problem.sizes["dtype"]
    checks, point = descent_kernel.check(*arguments)
    assert (point, len(checks)) == (None, 2 if problem.sizes["kernel"] == "hash" else 1)
    return all(check.passed for check in checks)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kernel", KERNELS)
def test_every_wrong_element_is_noticed(kernel, dtype):
    for n in (1, 2, 17, 65, 600):  # 600 rows are checked in parts
        problem = problem_of(kernel, n, dtype)
        assert not is_right(problem)
        write(problem, correct_outputs(problem))
        assert is_right(problem), n
        for array in problem.outputs.values():
            elements = array.reshape(-1)
            for index in {0, elements.size // 2, elements.size - 1}:
                right_value = elements[index]
                for wrong in (right_value * 1.01 + 1e-3, -right_value or 1, np.nan, np.inf):
                    elements[index] = wrong
                    assert not is_right(problem), (n, index, wrong)
                elements[index] = right_value
        assert is_right(problem)


def drop_last(inputs):
    """The last element, or the last of each row, is ignored."""
    for array in inputs.values():
        array[..., -1] = 0


def transpose(inputs):
    if "matrix" in inputs:
        inputs["matrix"] = inputs["matrix"].T


def shift_and_swap(inputs):
    """Elements are shifted by one, and x and y are swapped."""
    for name in set(inputs) - {"matrix"}:
        inputs[name] = np.roll(inputs[name], 1)
    if "y" in inputs:
        inputs["x"], inputs["y"] = inputs["y"], inputs["x"]


FAULTS = [
    *itertools.product((drop_last,), [kernel for kernel in KERNELS if kernel not in ("init", "hash")]),
    *itertools.product((transpose,), ("product", "reduction", "gemv")),
    *itertools.product((shift_and_swap,), ("product", "transpose", "scale", "vecdif", "vecsum", "gemv")),
]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("fault", "kernel"), FAULTS)
def test_wrong_operands_are_noticed(fault, kernel, dtype):
    for n in (2, 17, 65):
        problem = problem_of(kernel, n, dtype)
        inputs = {name: array.copy() for name, array in problem.inputs.items()}
        fault(inputs)
        write(problem, correct_outputs(problem, inputs=inputs))
        assert not is_right(problem), n


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kernel", [kernel for kernel in KERNELS if kernel != "init"])  # which has no inputs
def test_stale_and_low_precision_results_are_noticed(kernel, dtype):
    for n in (2, 17, 65):
        problem = problem_of(kernel, n, dtype)
        write(problem, correct_outputs(problem_of(kernel, n, dtype, round=1)))
        assert not is_right(problem), n
        write(problem, correct_outputs(problem, LOWER_DTYPE[dtype]))
        # What `hash` writes is exact in float32, but not in float16.
        assert is_right(problem) is (kernel == "hash" and dtype == "float64"), n


def test_a_sequential_sum_is_within_the_bound():
    problem = problem_of("reduction", 3000, "float32")
    problem.out[...] = np.cumsum(problem.matrix, axis=1, dtype=np.float32)[:, -1]
    assert is_right(problem)


def test_elements_of_hash_are_uniform_and_uncorrelated():
    values = descent_kernel.hashed_elements(0, 100_000, np.uint32(1))
    assert np.array_equal(values, values.astype(np.float32))
    assert -1 <= values.min() < values.max() < 1
    counts = np.histogram(values, 10, (-1, 1))[0]
    # Bounds of six standard deviations: sqrt(0.1 x 0.9 / 100 000), and 1 / sqrt(100 000).
    assert (abs(counts - 10_000) < 600).all()
    assert abs(np.corrcoef(values[:-1], values[1:])[0, 1]) < 0.02
    np.testing.assert_array_equal(values[70:90], descent_kernel.hashed_elements(70, 20, np.uint32(1)))


@pytest.mark.parametrize(
    ("kernel", "flops", "elements"),  # for n = 10; elements that are read or written
    [
        ("init", 0, 100),
        ("hash", 0, 110),
        ("product", 100, 210),
        ("reduction", 100, 110),
        ("transpose", 0, 20),
        ("scale", 10, 20),
        ("vecdif", 10, 30),
        ("vecsum", 10, 30),
        ("gemv", 200, 120),
        ("dot", 20, 21),
    ],
)
def test_the_cost_is_the_true_traffic(kernel, flops, elements):
    for dtype, itemsize in (("float32", 4), ("float64", 8)):
        sizes = workloads.complete("descent_kernel", {"kernel": kernel, "n": 10, "dtype": dtype})
        cost = descent_kernel.cost(sizes)
        assert (cost.flops, cost.bytes, cost.precision) == (flops, elements * itemsize, dtype)


@pytest.mark.parametrize("load", [4, 8, 12, 16])
def test_passes_end_with_one_sum_and_cover_all_elements(load):
    for n in (*SIZES, 4097):
        lengths = passes.pass_lengths(n, load)
        assert lengths[-1] == 1
        for previous, length in itertools.pairwise((n, *lengths)):
            assert (length - 1) * load < previous <= length * load
    assert passes.pass_lengths(load**2, load) == [load, 1]


def test_a_thread_sums_as_many_elements_as_in_the_earlier_study():
    loads = {16: 4, 64: 8, 144: 12, 256: 4, 512: 8}
    assert {n: passes.study_load(n) for n in loads} == loads
    assert {passes.study_load(n) for n in (17, 32, 65, 1000)} == {4}  # no power of a load


def test_the_earlier_study_counted_the_elements_written():
    assert earlier.elements_written("product", 144) == 144**2
    assert earlier.elements_written("reduction", 144) == 144 * (12 + 1)
    assert earlier.elements_written("reduction", 512) == 512 * (64 + 8 + 1)
    assert earlier.elements_written("reduction", 32, version=1) == earlier.elements_written("vecsum", 32) == 32
    # Each pass reads what the last one wrote.
    assert earlier.traffic("reduction", 144) == 4 * 144 * (144 + 12 + 12 + 1)
    assert earlier.traffic("reduction", 32, version=1) == 4 * (32**2 + 32)
    assert earlier.traffic("init", 144) == 4 * 144**2
    assert {len(times) for times in earlier.VERSION2.values()} == {len(earlier.COLUMNS)}


def launch_on_host(device, kernel, n, dtype, variant, **tuning):
    """A problem after a kernel's launch on an emulated GPU, and whether nothing beyond an array was written."""
    problem = problem_of(kernel, n, dtype, device, round=1)
    workloads.load_variant("descent_kernel", variant).setup(problem, **tuning)()
    return problem, all(np.isnan(guard).all() or guard.dtype.kind == "u" for guard in device.guards)


@pytest.mark.parametrize("kernel", STUDY_KERNELS)
@emulator.needs_compiler
def test_a_block_per_row_is_right_and_writes_nothing_beyond(monkeypatch, kernel):
    kernels = emulator.descent_kernels("cuda_version1", "float32")
    monkeypatch.setattr(cuda, "kernel", kernels.get)
    for n in (1, 2, 5, 17, 31, 32):
        problem, is_guarded = launch_on_host(emulator.device(), kernel, n, "float32", "cuda_version1")
        assert kernels.launches[-1] == (kernel, (n,), (1,) if kernel in VECTOR_KERNELS else (n,))
        assert is_right(problem, round=1), n
        assert is_guarded, n


@pytest.mark.parametrize(("dtype", "load"), [("float32", 4), ("float64", 12)])
@pytest.mark.parametrize("kernel", KERNELS)
@emulator.needs_compiler
def test_a_linear_index_is_right_at_every_edge_and_writes_nothing_beyond(monkeypatch, kernel, dtype, load):
    monkeypatch.setattr(cuda, "kernel", emulator.descent_kernels("cuda_version2", dtype, load=load).get)
    launches = ["right", *["study"] * (kernel in STUDY_KERNELS)]
    longer_rows = {"gemv": (130,), "dot": (130, 450)}.get(kernel, ())  # in which both warps of a block have elements
    for n, launch in itertools.product((1, 17, 48, 65, *longer_rows), launches):
        tuning = {"block": 64, "load": load, "launch": launch}
        problem, is_guarded = launch_on_host(emulator.device(), kernel, n, dtype, "cuda_version2", **tuning)
        assert is_right(problem, round=1), (n, launch)
        assert is_guarded, (n, launch)


@emulator.needs_compiler
def test_a_launch_of_the_earlier_study_has_its_grid_and_block(monkeypatch):
    kernels = emulator.descent_kernels("cuda_version2", "float32", load=4)
    monkeypatch.setattr(cuda, "kernel", kernels.get)

    def grids(kernel, launch):
        kernels.launches.clear()
        launch_on_host(emulator.device(), kernel, 48, "float32", "cuda_version2", block=64, load=4, launch=launch)
        return [(*grid, *block) for _, grid, block in kernels.launches]

    assert grids("reduction", "right") == [(9, 64), (3, 64), (1, 64)]
    assert grids("reduction", "study") == [(64, 9), (64, 3), (64, 1)]
    # The study launched <<<block, blocks>>> with n * n threads, but with n for scale and vecdif.
    study_grids = {kernel: grids(kernel, "study") for kernel in STUDY_KERNELS if kernel != "reduction"}
    assert study_grids == {kernel: [(64, 1 if kernel in ("scale", "vecdif") else 36)] for kernel in study_grids}
    assert grids("vecsum", "right") == [(1, 64)]
    assert grids("gemv", "right") == [(48, 64)]
    assert grids("dot", "right") == [(1, 64)]


@pytest.mark.parametrize(
    ("kernel", "n", "tuning", "words"),
    [
        # n * n / 4 threads, for loads of 4 elements, and n * n threads; both in blocks of 32.
        ("reduction", 1000, {"block": 32, "launch": "study"}, "reduction has 7813 blocks. .* 1024 at most: lower n"),
        ("vecsum", 182, {"block": 32, "launch": "study"}, "vecsum has 1036 blocks. With launch=study .* 1024 at most"),
        ("dot", 64, {"launch": "study"}, "launch=study .* is only for init, product, reduction, transpose, scale"),
        ("gemv", 64, {"block": 48}, "block=48 of descent_kernel/cuda_version2 must be a multiple of 32"),
    ],
)
def test_an_invalid_launch_is_refused_with_a_sentence(monkeypatch, kernel, n, tuning, words):
    monkeypatch.setattr(cuda, "kernel", lambda *arguments, **constants: None)
    problem = problem_of(kernel, n, "float32", emulator.device())
    with pytest.raises(LadderError, match=words):
        workloads.load_variant("descent_kernel", "cuda_version2").setup(problem, **tuning)


def test_a_variant_states_what_it_does_not_support():
    def refusal(variant, kernel, n):
        return traits.beyond_limits_reason(kernel_cases.case("descent_kernel", variant, {}, kernel=kernel, n=n))

    assert refusal("cuda_version1", "init", 32) is None
    assert "takes n from 1 to 32 only" in refusal("cuda_version1", "init", 33)
    assert "takes kernel init or product" in refusal("cuda_version1", "dot", 32)
    assert "takes kernel product or reduction" in refusal("cublas", "init", 32)
    assert refusal("cublas", "dot", 100_000) is None


class Cublas:
    """cuBLAS on the host. Its matrices are column-major, so it sees the transpose of NumPy's."""

    def __init__(self):
        self.is_result_on_device = False

    def bind(self, name, handle, *operands):
        function = {
            "cublasSetPointerMode_v2": self.set_pointer_mode,
            "cublasSdgmm_64": self.dgmm,
            "cublasSgeam_64": self.geam,
            "cublasScopy_v2_64": self.copy,
            "cublasSdot_v2_64": self.dot,
        }[name]
        values = [operand.value if isinstance(operand, ctypes._SimpleCData) else operand for operand in operands]
        return lambda: function(*values)

    def set_pointer_mode(self, mode):
        self.is_result_on_device = bool(mode)

    def dgmm(self, side, m, n, a, lda, x, incx, c, ldc):
        assert (a.T.shape, (lda, incx, ldc)) == ((m, n), (m, 1, m))
        c.T[...] = a.T * (x[None, :] if side else x[:, None])

    def geam(self, transa, transb, m, n, alpha, a, lda, beta, b, ldb, c, ldc):
        assert (transa, transb, m, n, {lda, ldb, ldc}) == (0, 0, a.size, 1, {m})
        c[...] = alpha * a + beta * b

    def copy(self, n, x, incx, y, incy):
        assert (n, incx, incy) == (x.size, 1, 1)
        y[...] = x

    def dot(self, n, x, incx, y, incy, result):
        assert self.is_result_on_device
        assert (n, incx, incy) == (x.size, 1, 1)
        result[0] = x @ y


@pytest.mark.parametrize("kernel", [kernel for kernel in KERNELS if kernel not in ("init", "hash")])
def test_the_calls_of_cublas_compute_the_kernel(monkeypatch, kernel):
    variant, library = workloads.load_variant("descent_kernel", "cublas"), Cublas()
    monkeypatch.setattr(variant, "bind", library.bind)
    monkeypatch.setattr(variant, "pointer", lambda array: array)
    monkeypatch.setattr(variant, "scalar_pointer", lambda value, dtype: dtype.type(value))
    monkeypatch.setattr(variant, "product", lambda matrix, x, y: lambda: np.matmul(matrix, x, out=y))
    for module in (variant, gemv_by_cublas):
        monkeypatch.setattr(module, "handle", lambda: None)
    monkeypatch.setattr(gemv_by_cublas, "use_current_stream", lambda handle: None)
    for n in (1, 17):
        problem = problem_of(kernel, n, "float32", emulator.device())
        variant.setup(problem)()
        assert is_right(problem), n
        assert not library.is_result_on_device


# Every block with every load.
TUNINGS = [
    dict(zip(("block", "load"), pair, strict=True)) for pair in itertools.product((32, 128, 512), (4, 8, 12, 16))
]


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("variant", VARIANTS)
def test_every_kernel_is_right_on_a_gpu(variant, n, dtype):
    for kernel, tuning in itertools.product(KERNELS, TUNINGS if variant == "cuda_version2" else [{}]):
        case = kernel_cases.case("descent_kernel", variant, tuning, kernel=kernel, n=n, dtype=dtype)
        if traits.beyond_limits_reason(case) is None:
            problem = kernel_cases.solve(case, round=1)
            validation.require(kernel_cases.run_checks(problem, case, round=1), case.key)


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kernel", STUDY_KERNELS)
def test_launches_of_the_earlier_study_are_right_on_a_gpu(kernel, dtype):
    for n, block, load in [(1, 32, 4), (17, 32, 4), (144, 32, 12), (256, 512, 4), (512, 512, 8)]:
        tuning = {"block": block, "load": load, "launch": "study"}
        case = kernel_cases.case("descent_kernel", "cuda_version2", tuning, kernel=kernel, n=n, dtype=dtype)
        validation.require(kernel_cases.run_checks(kernel_cases.solve(case, round=1), case, round=1), case.key)
