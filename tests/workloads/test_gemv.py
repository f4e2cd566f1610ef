"""GEMV: every variant at odd shapes passes the workload's check, and wrong results don't."""

import ctypes
import itertools
import shutil
from importlib.util import find_spec

import numpy as np
import pytest

import emulator
import kernel_cases
from ladder import cuda, devices
from ladder.build import binaries
from ladder.catalogue import setup_arguments, workloads
from ladder.devices import chunked
from ladder.errors import LadderError
from ladder.harness import validation
from ladder.harness.steps import Steps, chain_steps
from ladder.harness.worker import make_problem
from ladder.records.case import Case
from ladder.workloads import gemv

pytestmark = pytest.mark.xdist_group("gemv")  # its functions are compiled once
EXTENTS = (1, 2, 17, 1000, 4097)
SHAPES = list(itertools.product(EXTENTS, EXTENTS))
SMALL_SHAPES = [(n, m) for n, m in SHAPES if n * m <= 10**5]
LARGE_SHAPES = [shape for shape in SHAPES if shape not in SMALL_SHAPES]
DTYPES = ("float64", "float32")
NEEDS_GCC = pytest.mark.skipif(not shutil.which("gcc"), reason="requires gcc")
NEEDS_TORCH = pytest.mark.skipif(not find_spec("torch"), reason="requires PyTorch: pip install torch")
TUNINGS = {
    "openmp": {"threads": 2},
    "openmp_bound": {"threads": 2, "binding": "spread"},
    "c_openmp": {"threads": 2, "schedule": "dynamic"},
    "blas": {"threads": 2},
    "pytorch": {"threads": 2},
}
NEEDS = {"c_openmp": [NEEDS_GCC], "pytorch": [NEEDS_TORCH]}
VARIANTS = [pytest.param(name, marks=NEEDS.get(name, [])) for name in TUNINGS]
MULTIPROCESSORS = 132  # of an H200
EMULATED_KERNELS = ("cuda_naive", "cuda_coalesced", "cuda_shared")
CUDA_VARIANTS = [name for name in workloads.variants("gemv") if workloads.constants("gemv", name)["DEVICE"] == "cuda"]


def problem_of(n, m, dtype, variant="blas", round=0):
    """A problem with filled inputs and outputs of NaN, after the variant's first touch of its pages if it has one."""
    sizes = workloads.complete("gemv", {"n": n, "m": m, "dtype": dtype})
    module = workloads.load_variant("gemv", variant)
    problem = make_problem(gemv, Case("gemv", variant, sizes, TUNINGS[variant]), emulator.guarded_host(), module)
    gemv.fill(problem.inputs, sizes, round, None)
    validation.poison(problem.outputs)
    return problem


def solve(problem):
    """Write the correct result, rounded once."""
    problem.y[...] = problem.matrix.astype(np.float64) @ problem.x.astype(np.float64)


def is_right(problem, round=0):
    arguments = problem.sizes, problem.inputs, problem.outputs, round, None, None, problem.sizes["dtype"]
    (check,), point = gemv.check(*arguments)
    # The second round has whole numbers, whose sums must be exact.
    assert (check.name, point) == (("product", "product, whole numbers")[round], None)
    return check.passed


@pytest.mark.parametrize(
    "shapes", [SMALL_SHAPES, pytest.param(LARGE_SHAPES, marks=pytest.mark.slow)], ids=["small", "large"]
)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("variant", VARIANTS)
def test_every_variant_is_right_and_leaves_its_inputs(variant, dtype, shapes):
    module = workloads.load_variant("gemv", variant)
    for n, m in shapes:
        problem = problem_of(n, m, dtype, variant)
        run = module.setup(problem, **TUNINGS[variant])
        for round in range(gemv.rounds(problem.sizes)):
            gemv.fill(problem.inputs, problem.sizes, round, None)
            validation.poison(problem.outputs)
            before = {name: array.copy() for name, array in problem.inputs.items()}
            run()
            validation.require_finite(problem.outputs, problem.output_kinds)
            assert is_right(problem, round), (n, m, round)
            assert all(np.array_equal(problem.inputs[name], before[name]) for name in before)
            assert emulator.are_intact(problem.device.guards), "memory behind an array was written"


@pytest.mark.parametrize("threads", [1, 2, 3, 7])
@pytest.mark.parametrize("count", [1, 2, 6, 7, 8, 100])
def test_every_row_belongs_to_one_thread(count, threads):
    row_range = workloads.load_variant("gemv", "openmp").row_range
    ranges = [row_range(count, thread, threads) for thread in range(threads)]
    assert [row for first, end in ranges for row in range(first, end)] == list(range(count))
    lengths = [end - first for first, end in ranges]
    assert max(lengths) - min(lengths) <= 1


@pytest.mark.parametrize(
    ("variant", "tuning", "words"),
    [
        ("openmp_bound", {"threads": 2, "binding": "near"}, "spread, close"),
        ("c_openmp", {"threads": 2, "schedule": "auto"}, "static, dynamic, guided"),
        ("mpi", {"ranks": 1, "mode": "sent"}, "ship, resident"),
        ("mpi_openmp", {"ranks": 1, "threads": 1, "mode": "sent"}, "ship, resident"),
        ("mpi_cublas", {"ranks": 1, "mode": "sent"}, "ship, resident"),
        ("nccl_cublas", {"ranks": 1, "mode": "sent"}, "ship, resident"),
        ("nccl_cublas", {"ranks": 1, "mode": "resident", "graph": "yes"}, "off, on"),
    ],
)
def test_an_unknown_word_of_a_tuning_is_refused_with_the_known_ones(variant, tuning, words):
    with pytest.raises(LadderError, match=rf"of gemv/{variant} must be one of {words}\."):
        setup_arguments.require_tuning("gemv", variant, tuning)


def test_first_touch_writes_zeros_everywhere():
    module = workloads.load_variant("gemv", "openmp_bound")
    problem = problem_of(17, 5, "float64")
    module.first_touch(problem)
    assert not problem.matrix.any()
    assert not problem.y.any()


def test_other_rounds_have_other_inputs_and_the_same_round_the_same():
    first, repeated, other = (problem_of(17, 5, "float32", round=round) for round in (0, 0, 1))
    for name in ("matrix", "x"):
        assert np.array_equal(first.inputs[name], repeated.inputs[name])
        assert not (first.inputs[name] == other.inputs[name]).any()
        assert -1 <= first.inputs[name].min() < 0 < first.inputs[name].max() < 1


def test_repeated_numbers_are_in_other_columns(monkeypatch):
    monkeypatch.setattr(chunked, "PERIOD", 31)
    problem = problem_of(10, 7, "float64")
    assert np.array_equal(problem.matrix.reshape(-1)[31:62], problem.matrix.reshape(-1)[:31])
    assert len({tuple(row) for row in problem.matrix}) == 10


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("n", "m"), [(1, 1), (17, 65), (5, 5000)])
def test_sums_of_whole_numbers_are_exact_in_every_order_and_nothing_else_passes(n, m, dtype):
    problem = problem_of(n, m, dtype, round=1)
    terms = list(problem.matrix.T * problem.x[:, None])
    for order in (terms, terms[::-1], sorted(terms, key=lambda term: term[0])):
        problem.y[...] = sum(order, np.zeros_like(problem.y))
        assert is_right(problem, round=1)
    problem.y[-1] = np.nextafter(problem.y[-1], np.inf, dtype=dtype)
    assert not is_right(problem, round=1)


def drop_last_column(problem):
    matrix, x = problem.matrix[:, :-1].astype(np.float64), problem.x[:-1].astype(np.float64)
    problem.y[...] = np.einsum("ij,j->i", matrix, x)


def drop_last_row(problem):
    problem.y[-1] = 0


def solve_another_round(problem):
    """The result of another round."""
    other = problem_of(*problem.matrix.shape, problem.sizes["dtype"], round=1)
    solve(other)
    problem.y[...] = other.y


def exchange_rows(problem):
    problem.y[...] = np.roll(problem.y, 1)


def solve_in_lower_precision(problem):
    lower = {"float64": np.float32, "float32": np.float16}[problem.sizes["dtype"]]
    matrix, x = (array.astype(lower).astype(np.float64) for array in (problem.matrix, problem.x))
    problem.y[...] = np.einsum("ij,j->i", matrix, x)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    "spoil", [drop_last_column, drop_last_row, solve_another_round, exchange_rows, solve_in_lower_precision]
)
def test_wrong_results_are_noticed(spoil, dtype):
    for n, m in [*SMALL_SHAPES, (1000, 1000)]:
        if spoil is exchange_rows and n == 1:
            continue
        problem = problem_of(n, m, dtype)
        solve(problem)
        assert is_right(problem), (n, m)
        spoil(problem)
        assert not is_right(problem), (n, m)


def test_a_float32_product_in_a_float64_case_is_noticed():
    for n, m in [*SMALL_SHAPES, (1000, 1000)]:
        problem, float32_problem = problem_of(n, m, "float64"), problem_of(n, m, "float32")
        float32_problem.matrix[...], float32_problem.x[...] = problem.matrix, problem.x
        workloads.load_variant("gemv", "openmp").setup(float32_problem, threads=1)()
        problem.y[...] = float32_problem.y
        assert not is_right(problem), (n, m)


def test_a_long_sum_in_order_is_within_the_bound():
    problem = problem_of(3, 300_001, "float32")
    problem.y[...] = np.cumsum(problem.matrix * problem.x, axis=1, dtype=np.float32)[:, -1]
    assert is_right(problem)
    problem.y[1] += 1
    assert not is_right(problem)


@pytest.mark.parametrize(("n", "m"), [(3, 70_000), (70_000, 3), (1, 2**16 + 1), (300, 257)])
def test_one_wrong_element_is_noticed_anywhere(n, m):
    problem = problem_of(n, m, "float64")
    solve(problem)
    assert is_right(problem)
    for row in {0, n // 2, n - 1}:
        right = problem.y[row]
        for wrong in (right + 1e-6, np.nan, np.inf):
            problem.y[row] = wrong
            assert not is_right(problem)
        problem.y[row] = right


def test_the_cost_counts_every_array_once():
    sizes = workloads.complete("gemv", {"n": 3, "m": 5, "dtype": "float32"})
    assert (gemv.cost(sizes).flops, gemv.cost(sizes).bytes) == (30, 4 * 23)


def compile_for_cpu(folder, variant, **constants):
    """The kernels of a source, compiled for the CPU with these constants."""
    constants |= {"REAL": "double", "SOURCE": f'"{binaries.source_of("gemv", variant)}"'}
    emulator.compile_program(emulator.EMULATION_SOURCES / "gemv.cpp", folder / "kernels.so", constants, "-shared")
    return ctypes.CDLL(str(folder / "kernels.so"))


def pointers(*arrays):
    return [ctypes.c_void_p(array.ctypes.data) for array in arrays]


def integer_inputs(n, m):
    """A matrix and a vector whose product is exact."""
    generator = np.random.default_rng(n * m)
    return generator.integers(-9, 9, (n, m)).astype(float), generator.integers(-9, 9, m).astype(float)


@pytest.fixture(scope="module", params=EMULATED_KERNELS)
def run_kernel(request, tmp_path_factory):
    """A function that runs the kernels of a source on the CPU, in blocks of 4 threads: y and the transpose."""
    tile = {"TILE": 4} if request.param == "cuda_coalesced" else {}
    kernels = compile_for_cpu(tmp_path_factory.mktemp("emulated"), request.param, BLOCK=4, **tile)

    def run(matrix, x):
        n, m = matrix.shape
        y, transposed = (np.full(count + emulator.GUARD_ELEMENTS, np.nan) for count in (n, n * m))
        operand = np.ascontiguousarray(matrix.T) if request.param == "cuda_shared" else matrix
        kernels.emulate(*pointers(operand, x, y, transposed), n, m)
        return y, transposed if tile else None

    return run


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("g++"), reason="requires g++")
@pytest.mark.parametrize(("n", "m"), [(1, 1), (1, 17), (17, 1), (4, 4), (5, 3), (17, 13), (8, 12)])
def test_indices_are_right_at_every_edge_and_nothing_beyond_is_written(run_kernel, n, m):
    matrix, x = integer_inputs(n, m)
    y, transposed = run_kernel(matrix, x)
    np.testing.assert_array_equal(y[:n], matrix @ x)
    assert np.isnan(y[n:]).all()
    if transposed is not None:
        np.testing.assert_array_equal(transposed[: n * m].reshape(m, n), matrix.T)
        assert np.isnan(transposed[n * m :]).all()


@pytest.mark.skipif(not shutil.which("g++"), reason="requires g++")
@pytest.mark.parametrize(
    ("team", "rows", "unroll"),
    [
        (64, 2, 2),
        (8, 3, 2),
        *(
            pytest.param(*tuning, marks=pytest.mark.slow)
            for tuning in [(1, 3, 2), (2, 5, 1), (32, 3, 1), (32, 1, 2), (64, 1, 3)]
        ),
    ],
)
def test_teams_add_up_all_elements_of_their_rows_and_none_beyond(tmp_path, team, rows, unroll):
    tiling = {"block": 64, "team": team, "rows": rows, "unroll": unroll}
    kernels = compile_for_cpu(tmp_path, "cuda_warp", **{name.upper(): tiling[name] for name in tiling})
    divide = workloads.load_variant("gemv", "cuda_warp").divide
    split_cases = 0
    for n, m in [(1, 1), (1, 2), (5, 17), (7, 66), (2, 1200), (1, 2501), (3, 4098)]:
        matrix, x = integer_inputs(n, m)
        for is_wide in [0] if m % 2 else [0, 1]:  # whether an access has two elements
            groups, parts, columns = divide(n, m, 1 + is_wide, multiprocessors=1, **tiling)
            split_cases += parts > 1
            partial, y = (np.full(count + emulator.GUARD_ELEMENTS, np.nan) for count in (n * parts, n))
            kernels.emulate_parts(*pointers(matrix, x, partial, y), n, m, is_wide, groups, parts, columns)
            np.testing.assert_array_equal(y[:n], matrix @ x)
            np.testing.assert_array_equal(partial[: n * parts].reshape(n, parts).sum(axis=1), matrix @ x)
            assert np.isnan(y[n:]).all()
            assert np.isnan(partial[n * parts :]).all()
    assert split_cases


@pytest.mark.parametrize("width", [1, 2, 4])
@pytest.mark.parametrize("tiling", binaries.tiling_choices("gemv", "cuda_warp", "float64"), ids=str)
def test_parts_of_columns_are_whole_accesses_and_cover_all(tiling, width):
    cuda_warp = workloads.load_variant("gemv", "cuda_warp")
    for n, m in [*SHAPES, (100, 1_000_000), (16384, 32768), (1, 2**33), (2**33, 1)]:
        groups, parts, columns = cuda_warp.divide(n, m, width, MULTIPROCESSORS, **tiling)
        assert groups * tiling["rows"] * tiling["block"] // tiling["team"] >= n
        assert columns % width == 0
        assert (parts - 1) * columns < m <= parts * columns
        assert parts < 2**16


def test_few_long_rows_occupy_the_gpu_and_many_or_short_ones_are_not_split():
    cuda_warp = workloads.load_variant("gemv", "cuda_warp")

    def blocks(n, m):
        groups, parts, _ = cuda_warp.divide(n, m, 2, MULTIPROCESSORS, **cuda_warp.pick_tiling(m // 2))
        return groups * parts, parts

    for n in (1, 3, 100):
        assert blocks(n, 10_000_000)[0] >= 4 * MULTIPROCESSORS
    assert blocks(100, 1_000_000)[0] >= 4 * MULTIPROCESSORS
    assert blocks(16384, 32768)[1] == blocks(1000, 784)[1] == 1


def solve_on_gpu(variant, tuning, **sizes):
    """Solve a case on the GPU, after the inputs of another round; returns the problem and the case."""
    case = kernel_cases.case("gemv", variant, tuning, **sizes)
    return kernel_cases.solve(case, round=1), case


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("variant", CUDA_VARIANTS)
@pytest.mark.parametrize(("n", "m"), [*SHAPES, (3, 100_001), (100, 100_000)])
def test_every_variant_for_a_gpu_is_right_at_odd_shapes(variant, dtype, n, m):
    problem, case = solve_on_gpu(variant, {}, n=n, m=m, dtype=dtype)
    validation.require(kernel_cases.run_checks(problem, case, round=1), variant)


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("tiling", binaries.tiling_choices("gemv", "cuda_warp", "float64"), ids=str)
@pytest.mark.parametrize(("n", "m"), [(1, 1), (17, 1000), (1000, 17), (5, 300_000), (2, 300_001)])
def test_every_tiling_is_right_at_every_shape(tiling, dtype, n, m):
    problem, case = solve_on_gpu("cuda_warp", tiling, n=n, m=m, dtype=dtype)
    validation.require(kernel_cases.run_checks(problem, case, round=1), "cuda_warp")


@pytest.mark.gpu
def test_split_columns_give_the_same_bits_in_every_run():
    sizes = {"n": 7, "m": 1_000_000, "dtype": "float32"}
    first, second = (solve_on_gpu("cuda_warp", {}, **sizes)[0].y.get() for _ in range(2))
    np.testing.assert_array_equal(first, second)


@pytest.mark.gpu
@pytest.mark.parametrize("variant", CUDA_VARIANTS)
def test_elements_beyond_the_range_of_32_bit_indices_are_read(variant):
    """A matrix of more than 2^31 elements, zero except at three corners."""
    cupy = cuda.load_cupy()
    n, m = 2**16 + 1, 2**15 + 1
    if cupy.cuda.runtime.memGetInfo()[0] < 20 * 2**30:
        pytest.skip("requires a GPU with 20 GiB of free memory")
    case = kernel_cases.case("gemv", variant, {}, n=n, m=m, dtype="float32")
    problem = make_problem(gemv, case, devices.load("cuda"))
    problem.matrix[...], problem.x[...], problem.y[...] = 0, 1, np.nan
    steps = Steps.of(workloads.load_variant("gemv", variant).setup(problem))
    problem.matrix[0, 0], problem.matrix[-1, 0], problem.matrix[-1, -1] = 1, 2, 4
    chain_steps([*steps.prepare, *steps.run])()
    y = problem.y.get()
    assert (y[0], y[-1], y[1:-1].any()) == (1, 6, False)


@pytest.mark.parametrize(("n", "m", "slow_size"), [(1, 1, 1), (7, 5, 10), (5, 3, 2**31), (3, 100, 50), (17, 1, 4)])
def test_cublas_gets_large_matrices_in_parts_below_its_slow_size(monkeypatch, n, m, slow_size):
    from ladder.workloads.gemv import cublas

    part_sizes = []

    def bound_call(matrix, x, y):
        part_sizes.append(matrix.size)
        return lambda: np.matmul(matrix, x, out=y)

    for name, stand_in in [("bound_call", bound_call), ("SLOW_SIZE", slow_size), ("handle", lambda: None)]:
        monkeypatch.setattr(cublas, name, stand_in)
    monkeypatch.setattr(cublas, "use_current_stream", lambda handle: None)
    generator = np.random.default_rng(1)
    matrix, x, y = generator.random((n, m)), generator.random(m), np.full(n, np.nan)
    cublas.product(matrix, x, y)()
    np.testing.assert_allclose(y, matrix @ x)
    # A row is never split.
    assert all(size < slow_size or size == m for size in part_sizes if size)
