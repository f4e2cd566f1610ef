"""Solves by descent: the reference against theory, every variant against the check, and wrong solves."""

import ctypes
import functools
import itertools
import shutil
import subprocess
from types import SimpleNamespace

import numpy as np
import pytest

import kernel_cases
from ladder import devices
from ladder.build import binaries
from ladder.catalogue import traits, workloads
from ladder.errors import LadderError
from ladder.harness import validation
from ladder.harness.worker import make_problem
from ladder.records.case import Case
from ladder.workloads import descent
from ladder.workloads.descent import loop, system, trajectory

HOST = devices.load("host")
pytestmark = pytest.mark.xdist_group("descent")  # one worker, so that Numba compiles once
N_VALUES = (1, 2, 17, 65, 512, 1000)
DTYPES = ("float64", "float32")
ALGORITHMS = descent.SIZES["algorithm"]
ITERATIVE = ALGORITHMS[:3]  # without `direct`
# Sizes of a solve besides n: with a tolerance and without, for both right-hand sides, with scaled rows and without.
SOLVES = (
    {"kappa": 10.0, "iterations": 80, "tolerance": 1e-2, "start": "worst"},
    {"kappa": 10.0, "iterations": 12, "start": "worst"},
    {"kappa": 100.0, "iterations": 9, "start": "random", "scaling": "rows"},
)
VARIANTS_BY_DEVICE = {"host": [], "cuda": []}
for name in workloads.variants("descent"):
    VARIANTS_BY_DEVICE[workloads.constants("descent", name)["DEVICE"]].append(name)


def sizes_of(**sizes):
    return workloads.complete("descent", {"kappa": 10.0, "iterations": 12} | sizes)


def problem_of(round=0, **sizes):
    """A filled and poisoned problem."""
    problem = make_problem(descent, Case("descent", "numpy_loop", sizes_of(**sizes), {"threads": 2}), HOST)
    refill(problem, round)
    return problem


def refill(problem, round):
    """Write the inputs of a round, and poison the outputs."""
    descent.fill(problem.inputs, problem.sizes, round, None)
    descent.generate(problem, round)
    validation.poison(problem.outputs)


def checks_of(problem, round=0):
    arguments = problem.sizes, {"b": problem.b}, problem.outputs, round, None, None, problem.sizes["dtype"]
    return descent.check(*arguments)[0]


def is_right(problem, round=0):
    try:
        require_right(problem, round, "")
    except LadderError:
        return False
    return True


def is_within_limits(variant, **values):
    """Whether a variant's LIMITS allow a case of these sizes."""
    return traits.beyond_limits_reason(Case("descent", variant, sizes_of(**values), {})) is None


def require_right(problem, round, label):
    validation.require_finite(problem.outputs, problem.output_kinds)
    validation.require(checks_of(problem, round), label)


def check_host_variants(**sizes):
    """Check every host variant: set up for the first round's system, it solves the second round's."""
    problem = problem_of(**sizes)
    names = [variant for variant in VARIANTS_BY_DEVICE["host"] if is_within_limits(variant, **sizes)]
    runs = {variant: workloads.load_variant("descent", variant).setup(problem, threads=2) for variant in names}
    refill(problem, round=1)
    matrix, b = problem.matrix.copy(), problem.b.copy()
    for variant, run in runs.items():
        validation.poison(problem.outputs)
        with np.errstate(all="raise", under="ignore"):
            run()
        require_right(problem, 1, f"{variant}, {sizes}")
        assert np.array_equal(problem.matrix, matrix)
        assert np.array_equal(problem.b, b)


@pytest.mark.parametrize("dtype", ["float64", pytest.param("float32", marks=pytest.mark.slow)])
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_every_host_variant_is_right_and_keeps_its_inputs(algorithm, dtype):
    for n, solve in itertools.product(N_VALUES, SOLVES):
        check_host_variants(n=n, algorithm=algorithm, dtype=dtype, **solve)


@pytest.mark.parametrize(
    ("algorithm", "dtype"),
    [
        ("jacobi", "float64"),
        *(pytest.param(*values, marks=pytest.mark.slow) for values in [("cg", "float32"), ("direct", "float32")]),
    ],
)
def test_every_host_variant_is_right_beyond_the_caches(algorithm, dtype):
    check_host_variants(n=4097, algorithm=algorithm, dtype=dtype, iterations=8, start="random")


@pytest.mark.slow
@pytest.mark.parametrize("variant", ["openmp", "blas"])
@pytest.mark.parametrize("threads", [1, 3, 7])
def test_threads_beyond_the_rows_and_uneven_shares_are_right(variant, threads):
    for n in (2, 5, 65):
        problem = problem_of(n=n, start="random", algorithm="jacobi")
        run = workloads.load_variant("descent", variant).setup(problem, threads=threads)
        run()
        require_right(problem, 0, variant)
        x, history = problem.x.copy(), problem.history.copy()
        run()
        assert np.array_equal(problem.x, x), "a second run must give the same bits"
        assert np.array_equal(problem.history, history)


@pytest.mark.parametrize("recompute", [1, 7])
@pytest.mark.parametrize("variant", ["openmp", "blas"])
def test_a_recomputed_residual_is_right(variant, recompute):
    for algorithm, n in itertools.product(ITERATIVE, (1, 17, 65)):
        problem = problem_of(n=n, start="random", algorithm=algorithm, iterations=80, tolerance=1e-4, dtype="float64")
        workloads.load_variant("descent", variant).setup(problem, threads=2, recompute=recompute)()
        require_right(problem, 0, (variant, algorithm, n))


@pytest.mark.parametrize("variant", ["openmp", "blas"])
def test_an_updated_residual_falls_below_the_true_one(variant):
    ratios = []  # of the residual in the history to the true one
    for recompute in (0, 10):
        problem = problem_of(n=65, iterations=200, dtype="float32")
        workloads.load_variant("descent", variant).setup(problem, threads=2, recompute=recompute)()
        require_right(problem, 0, variant)
        ratios.append(problem.history[-1] ** 0.5 / true_residual(problem))
    assert ratios[0] < 0.01
    assert 0.5 < ratios[1] < 2


def true_residual(problem, round=0):
    equations = system.from_sizes(problem.sizes, round)
    return np.linalg.norm(equations.b - equations.product(problem.x.astype(float)))


def test_symv_reads_one_triangle():
    problem = problem_of(n=65, algorithm="cg", start="random")
    problem.matrix[np.triu_indices(65, 1)] = np.nan
    workloads.load_variant("descent", "blas").setup(problem, threads=2, product="symv")()
    require_right(problem, 0, "symv")


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("algorithm", ITERATIVE)
def test_a_residual_of_zero_ends_a_solve(algorithm, dtype):
    """With kappa = 1 the first step ends at zero; with one or two unknowns the residual's square soon underflows."""
    for n, kappa, start in ((65, 1.0, "random"), (65, 1.0, "worst"), (1, 5.0, "random"), (2, 2.0, "random")):
        check_host_variants(n=n, kappa=kappa, start=start, algorithm=algorithm, dtype=dtype, iterations=300)


@pytest.mark.slow
@pytest.mark.parametrize("kappa", [1.5, 10.0, 100.0, 1000.0])
def test_steepest_descent_is_as_slow_as_theory_says_and_conjugate_gradients_are_faster(kappa):
    for n in (64, 65, 1000):
        equations = system.from_sizes(sizes_of(n=n, kappa=kappa, dtype="float64"), 0)
        exact = trajectory.ExactArithmetic(equations, 2.0**-53)
        steepest = np.sqrt(trajectory.solve(equations, "steepest", 40, 0.0, exact).history)
        np.testing.assert_allclose(steepest[1:] / steepest[:-1], (kappa - 1) / (kappa + 1), rtol=1e-9)
        equations = system.from_sizes(sizes_of(n=n, kappa=kappa, dtype="float64", start="random"), 0)
        steps = {name: steps_to(equations, name, 1e-3) for name in ITERATIVE}
        if kappa >= 10:
            assert 2 * steps["cg"] < steps["steepest"]
        # Theory bounds the relative residual of step s by 2 sqrt(kappa) ((sqrt(kappa) - 1) / (sqrt(kappa) + 1))^s.
        assert steps["cg"] <= np.log(2e3 * kappa**0.5) / -np.log((kappa**0.5 - 1) / (kappa**0.5 + 1)) + 1
        assert abs(steps["jacobi"] - steps["cg"]) <= 0.1 * steps["cg"]  # since the diagonal is constant


def steps_to(equations, algorithm, tolerance):
    """The number of steps of an exact solve to a tolerance."""
    history = trajectory.solve(
        equations, algorithm, 10_000, tolerance, trajectory.ExactArithmetic(equations, 2.0**-53)
    ).history
    return int(np.argmax(np.array(history) <= tolerance**2 * history[0]))


def test_jacobi_takes_fewer_steps_if_the_diagonal_varies():
    equations = system.from_sizes(sizes_of(n=1000, kappa=10.0, dtype="float64", start="random", scaling="rows"), 0)
    assert steps_to(equations, "jacobi", 1e-3) < 0.7 * steps_to(equations, "cg", 1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("scaling", descent.SIZES["scaling"])
@pytest.mark.parametrize("n", [1, 2, 3, 17, 64, 257])
def test_the_system_has_its_documented_properties(monkeypatch, n, scaling):
    monkeypatch.setattr(system, "CHUNK_COLUMNS", 13)
    for dtype, round in itertools.product(DTYPES, (0, 1)):
        problem = problem_of(round, n=n, kappa=50.0, start="random", scaling=scaling, dtype=dtype)
        equations, matrix = system.from_sizes(problem.sizes, round), problem.matrix.astype(float)
        # A circulant of c, permuted by p and scaled by d.
        expected = equations.d[:, None] * equations.d * equations.c[(equations.p[:, None] - equations.p) % n]
        np.testing.assert_array_equal(matrix, expected)
        np.testing.assert_array_equal(matrix, matrix.T)
        np.testing.assert_array_equal(problem.b, equations.b)
        assert set(equations.d) <= ({1.0} if scaling == "none" else {1.0, 2.0, 4.0, 8.0})
        np.testing.assert_array_equal(np.diag(matrix), equations.diagonal)
        assert np.linalg.norm(matrix, axis=1).max() <= equations.row_norm * (1 + 1e-12)
        assert np.linalg.norm(matrix, 2) <= equations.norm * (1 + 1e-12)
        eigenvalues = np.linalg.eigvalsh(matrix / equations.d / equations.d[:, None])
        smallest = 1.0 if n == 1 else 1 / 50
        np.testing.assert_allclose(eigenvalues[[0, -1]], [smallest, 1], rtol=1e-4 if dtype == "float32" else 1e-12)
        x = np.random.default_rng(n).normal(size=n)
        np.testing.assert_allclose(equations.product(x), matrix @ x, atol=1e-12 * equations.norm * n)


def test_systems_differ_by_round_and_seed_and_are_reproducible():
    first, repeated = (problem_of(n=65, start="random") for _ in range(2))
    np.testing.assert_array_equal(first.matrix, repeated.matrix)
    np.testing.assert_array_equal(first.b, repeated.b)
    for other in (problem_of(1, n=65, start="random"), problem_of(n=65, start="random", seed=2)):
        assert (other.matrix != first.matrix)[~np.eye(65, dtype=bool)].mean() > 0.9
        assert (other.b != first.b).all()


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"kappa": 0.5}, "kappa=0.5 of descent is not a condition number"),
        (
            {"kappa": 100.0, "tolerance": 1e-5, "dtype": "float32"},
            "can't be reached in float32 with kappa=100: ask for 6",
        ),
        ({"tolerance": 1.0}, "tolerance=1 of descent must be below 1"),
        ({"scaling": "rows"}, "start=worst of descent is defined only without scaling"),
        ({"tolerance": -0.1}, "tolerance=-0.1 of descent must be a number of at least 0"),
        ({"kappa": None}, "descent needs a value for its size 'kappa'"),
    ],
)
def test_invalid_sizes_are_refused_with_a_sentence(changes, sentence):
    with pytest.raises(LadderError) as error:
        sizes_of(n=5, **changes)
    assert sentence in str(error.value)


def test_a_tolerance_that_the_dtype_can_reach_is_accepted():
    assert sizes_of(n=5, kappa=100.0, tolerance=1e-4, dtype="float32")["tolerance"] == 1e-4
    assert sizes_of(n=5, kappa=100.0, tolerance=1e-5, dtype="float64")["tolerance"] == 1e-5


def test_too_few_iterations_for_a_tolerance_are_refused():
    problem = problem_of(n=65, iterations=10, tolerance=1e-3)
    workloads.load_variant("descent", "blas").setup(problem, threads=1)()
    with pytest.raises(
        LadderError, match=r"iterations=10 of descent don't suffice for tolerance=0\.001: the exact solve"
    ):
        checks_of(problem)


def test_the_cost_counts_the_steps_of_the_solve():
    """A step takes 2 n^2 FLOPs, and reads half of A, n (n + 1) / 2 elements, unless these can stay on the chip."""
    sizes = sizes_of(n=10, dtype="float32")
    assert vars(descent.cost(sizes, {"steps": 7})) == {"flops": 1400, "bytes": 220, "precision": "float32"}
    assert descent.cost(sizes | {"algorithm": "direct"}, {"steps": 0}).flops == pytest.approx(1000 / 3)
    large = sizes_of(n=40_000, dtype="float32")
    half_bytes = 2 * 40_000 * 40_001  # beyond any chip, so that every step reads it
    assert [descent.cost(large, {"steps": steps}).bytes for steps in (0, 1, 7)] == [
        half_bytes,
        half_bytes,
        7 * half_bytes,
    ]


def solve_in_numpy(problem, dtype=None, product=np.matmul, **changes):
    """Solve by array operations, possibly in another dtype and with changed sizes, and write the results."""
    other = SimpleNamespace(sizes=problem.sizes | changes)
    dtype = dtype or problem.x.dtype
    other.matrix, other.b = problem.matrix.astype(dtype), problem.b.astype(dtype)
    other.x, other.history = np.empty(len(other.b), dtype), np.empty(other.sizes["iterations"] + 1, dtype)
    other.steps = problem.steps
    with np.errstate(all="ignore"):  # wrong solves may diverge
        loop.solve(np, lambda v: product(other.matrix, v), other)
    count = min(len(other.history), len(problem.history))
    problem.x[...], problem.history[...] = other.x, 0
    problem.history[:count] = other.history[:count]


def count_steps(problem):
    """The number of steps that the problem takes."""
    solve_in_numpy(problem)
    return int(problem.steps[0])


def solve_circulant(problem):
    """As if A were the circulant of its first row."""
    n = len(problem.b)
    circulant = SimpleNamespace(**vars(problem))
    circulant.matrix = problem.matrix[0, (np.arange(n)[:, None] - np.arange(n)) % n]
    solve_in_numpy(circulant)


def solve_in_higher_precision(problem):
    solve_in_numpy(problem, dtype=np.float64)


def solve_in_lower_precision(problem):
    solve_in_numpy(problem, dtype={"float64": np.float32, "float32": np.float16}[problem.x.dtype.name])


def solve_rounded_operands(problem):
    """With operands rounded as tensor cores round them: to 11 bits in float32, and to 24 in float64."""

    def round_significand(array):
        mantissa, exponent = np.frexp(array)
        bits = 2.0 ** {"float32": 11, "float64": 24}[array.dtype.name]
        return np.ldexp(np.round(mantissa * bits) / bits, exponent).astype(array.dtype)

    solve_in_numpy(problem, product=lambda matrix, v: round_significand(matrix) @ round_significand(v))


def stop_one_step_early(problem):
    solve_in_numpy(problem, iterations=count_steps(problem) - 1, tolerance=0.0)


def stop_one_step_late(problem):
    solve_in_numpy(problem, iterations=count_steps(problem) + 1, tolerance=0.0)


def report_early_stop_as_solved(problem):
    stop_one_step_early(problem)
    problem.history[problem.steps[0]] = 0


def solve_by_another_algorithm(problem):
    solve_in_numpy(problem, algorithm="steepest" if problem.sizes["algorithm"] == "cg" else "cg")


def solve_with_wrong_x(problem):
    """x is wrong, and the history is not."""
    solve_in_numpy(problem)
    problem.x[...] *= 1 + 1e-2


def write_zeros(problem):
    problem.x[...], problem.history[...], problem.steps[...] = 0, 0, 0


def write_nothing(problem):
    pass


def write_nan(problem):
    solve_in_numpy(problem)
    problem.x[-1] = np.nan


def solve_another_round(problem):
    other_problem = problem_of(1, **problem.sizes)
    solve_in_numpy(other_problem)
    for name, array in problem.outputs.items():
        array[...] = other_problem.outputs[name]


def report_too_many_steps(problem):
    solve_in_numpy(problem)
    problem.steps[0] = problem.sizes["iterations"] + 1


def report_too_few_steps(problem):
    solve_in_numpy(problem)
    problem.steps[0] -= 1


WRONG_SOLUTIONS = [
    solve_circulant,
    solve_in_higher_precision,
    solve_in_lower_precision,
    solve_rounded_operands,
    stop_one_step_early,
    stop_one_step_late,
    report_early_stop_as_solved,
    solve_by_another_algorithm,
    solve_with_wrong_x,
    write_zeros,
    write_nothing,
    write_nan,
    solve_another_round,
    report_too_many_steps,
    report_too_few_steps,
]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("start", ["worst", "random"])
@pytest.mark.parametrize("algorithm", ["steepest", "cg"])
def test_wrong_solves_are_noticed(algorithm, start, dtype):
    is_short = (algorithm, start) == ("cg", "worst")  # b is the sum of two eigenvectors, so two steps solve the system
    for n, tolerance in itertools.product((65, 512), (0.0, 1e-2)):
        sizes = {"n": n, "algorithm": algorithm, "tolerance": tolerance, "start": start, "dtype": dtype}
        problem = problem_of(iterations=60 if tolerance else 2 if is_short else 10, **sizes)
        solve_in_numpy(problem)
        assert is_right(problem), sizes
        for solve_wrongly in WRONG_SOLUTIONS:
            if solve_wrongly is solve_in_higher_precision and (dtype == "float64" or is_short):
                continue
            if solve_wrongly is stop_one_step_late and not tolerance:
                continue  # the history has no room for a further step
            validation.poison(problem.outputs)
            solve_wrongly(problem)
            assert not is_right(problem), (solve_wrongly.__name__, sizes)


@pytest.mark.parametrize("algorithm", ["steepest", "cg"])
def test_sequential_sums_of_any_length_are_within_the_bound(algorithm):
    for n, start in itertools.product((65, 1000), ("worst", "random")):
        problem = problem_of(n=n, algorithm=algorithm, start=start, dtype="float32", iterations=8)
        solve_in_numpy(problem, product=lambda matrix, v: np.cumsum(matrix * v, axis=1, dtype=v.dtype)[:, -1])
        assert is_right(problem), (n, start)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("relative_error", [1e-4, np.nan, np.inf])
def test_a_wrong_x_of_a_factorisation_is_noticed(relative_error, dtype):
    for n, scaling in itertools.product((1, 17, 65), descent.SIZES["scaling"]):
        problem = problem_of(n=n, algorithm="direct", start="random", dtype=dtype, scaling=scaling)
        workloads.load_variant("descent", "scipy_cholesky").setup(problem, threads=1)()
        assert is_right(problem)
        problem.x[-1] += relative_error * np.abs(problem.x).max()
        assert not is_right(problem)
        write_zeros(problem)
        assert not is_right(problem)


class Kernels:
    """The kernels of cublas.cu on the CPU; `get` replaces `cuda.kernel`."""

    FRAME = """
    #include <algorithm>
    #define __global__
    #define __device__
    using std::max;
    struct Index {{ unsigned x = 0; }};
    static Index blockIdx, threadIdx, blockDim, gridDim;
    #include "{source}"
    extern "C" void set_indices(unsigned block, unsigned thread, unsigned blocks, unsigned threads) {{
      blockIdx.x = block, threadIdx.x = thread, gridDim.x = blocks, blockDim.x = threads;
    }}
    """

    def __init__(self, folder, dtype):
        macros = binaries.macros(binaries.slug("descent", "cublas", dtype, {}))
        (folder / "frame.cpp").write_text(self.FRAME.format(source=binaries.source_of("descent", "cublas")))
        options = ["-std=c++20", "-shared", "-fPIC", *(f"-D{name}={value}" for name, value in macros.items())]
        subprocess.run(["g++", *options, folder / "frame.cpp", "-o", folder / "kernels.so"], check=True)
        self.library = ctypes.CDLL(str(folder / "kernels.so"))

    def get(self, workload, variant, name, dtype):
        def launch(grid, block, arguments):
            values = [pointer(argument) if np.ndim(argument) else scalar(argument) for argument in arguments]
            for indices in itertools.product(range(grid[0]), range(block[0])):
                self.library.set_indices(*indices, grid[0], block[0])
                self.library[name](*values)

        return launch


def scalar(value):
    return np.ctypeslib.as_ctypes_type(value.dtype)(value.item())


def pointer(array):
    return ctypes.c_void_p(array.ctypes.data)


def cublas_call(name, handle, n, *operands):
    """A call of cuBLAS on the host, with arrays for pointers, and arrays of one element for scalars."""

    def dot(x, incx, y, incy, result):
        result[0] = x @ y

    def axpy(alpha, x, incx, y, incy):
        y += alpha[0] * x

    def scal(alpha, x, incx):
        x *= alpha[0]

    def symv(n, alpha, matrix, lda, x, incx, beta, y, incy):
        upper = np.triu(matrix)  # in column-major order, the lower triangle
        y[...] = (upper + np.triu(matrix, 1).T) @ x

    function = {"dot": dot, "axpy": axpy, "scal": scal, "symv": symv}[name[len("cublasS") : -len("_v2_64")]]
    return functools.partial(function, *operands)


@pytest.fixture(scope="module")
def compiled_kernels(tmp_path_factory):
    return {dtype: Kernels(tmp_path_factory.mktemp(dtype), dtype) for dtype in DTYPES}


@pytest.mark.skipif(not shutil.which("g++"), reason="requires g++")
@pytest.mark.parametrize(
    ("dtype", "batch", "product"),
    [
        *(("float64", 0, "gemv"), ("float64", 5, "symv"), ("float32", 0, "symv"), ("float32", 5, "gemv")),
        *(
            pytest.param(*case, marks=pytest.mark.slow)
            for case in [("float64", 5, "gemv"), ("float64", 0, "symv"), ("float32", 5, "symv"), ("float32", 0, "gemv")]
        ),
    ],
)
def test_the_calls_of_cublas_solve_the_system(monkeypatch, compiled_kernels, dtype, batch, product):
    from ladder.workloads.descent import cublas

    def multiply(matrix, v, out):
        return lambda: np.matmul(matrix, v, out=out)

    def do_nothing(*arguments):
        return None

    replacements = {"bind": cublas_call, "pointer": lambda array: array, "scalar_pointer": lambda value, dtype: [value]}
    replacements |= dict.fromkeys(("device_scalar_handle", "host_scalar_handle", "use_current_stream"), do_nothing)
    for name, replacement in replacements.items():
        monkeypatch.setattr(cublas, name, replacement)
    monkeypatch.setattr(cublas.cuda, "kernel", compiled_kernels[dtype].get)
    monkeypatch.setattr(cublas.gemv, "product", multiply)
    monkeypatch.setattr(cublas.gemv, "multiply", lambda calls, arrays: calls[0]())
    monkeypatch.setattr(cublas, "BLOCK", 32)
    for algorithm, n, solve in itertools.product(ITERATIVE, (1, 17, 65), SOLVES):
        problem = problem_of(n=n, algorithm=algorithm, dtype=dtype, **solve)
        run = cublas.setup(problem, product=product, batch=batch)
        refill(problem, round=1)
        run()
        require_right(problem, 1, (algorithm, n, solve))


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", [*N_VALUES, 4097])
@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("variant", VARIANTS_BY_DEVICE["cuda"])
def test_every_variant_for_a_gpu_is_right(variant, algorithm, n, dtype):
    for solve in SOLVES:
        sizes = {"n": n, "algorithm": algorithm, "dtype": dtype, **solve}
        if is_within_limits(variant, **sizes):
            solve_on_gpu(variant, {}, **sizes)


def solve_on_gpu(variant, tuning, **sizes):
    """Check on a GPU that a variant, set up for the first round's system, solves the second round's."""
    case = kernel_cases.case("descent", variant, tuning, **sizes)
    problem = kernel_cases.solve(case, round=1)
    validation.require(kernel_cases.run_checks(problem, case, round=1), f"{variant}, {sizes}, {tuning}")


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("algorithm", ITERATIVE)
@pytest.mark.parametrize(
    "tuning",
    [
        {"blocks": 1},
        {"blocks": 7},
        {"block": 128, "team": 64, "rows": 2, "unroll": 4, "blocks": 7},
        {"block": 64, "team": 32, "rows": 1, "unroll": 4, "columns": 32},
    ],
)
def test_persistent_kernels_are_right_for_any_number_of_blocks(tuning, algorithm, dtype):
    for n, solve in itertools.product((1, 65, 131), SOLVES):
        solve_on_gpu("cuda_persistent", tuning, n=n, algorithm=algorithm, dtype=dtype, **solve)


@pytest.mark.gpu
@pytest.mark.parametrize(
    ("tuning", "sentence"),
    [
        ({"block": 64, "team": 32, "rows": 1, "unroll": 4, "columns": 16}, "n=513 .* is beyond 32 x columns=16"),
        ({"columns": 32}, "A tiling sets all of block, team, rows, unroll, columns or none"),
        ({"columns": 32, "recompute": 2}, "columns of descent/cuda_persistent go with neither blocks nor recompute"),
        ({"blocks": 100_000}, "blocks=100000 .* is too large a grid for a cooperative launch"),
    ],
)
def test_unsupported_tunings_of_a_persistent_kernel_are_refused(tuning, sentence):
    with pytest.raises(LadderError, match=sentence):
        solve_on_gpu("cuda_persistent", tuning, n=513, kappa=10.0, iterations=2)


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("batch", [0, 1, 5])
@pytest.mark.parametrize("graph", ["off", "on"])
@pytest.mark.parametrize("product", ["gemv", "symv"])
def test_cublas_is_right_with_either_product_and_in_graphs(product, graph, batch, dtype):
    tuning = {"product": product, "graph": graph, "batch": batch}
    for algorithm, n, solve in itertools.product(ITERATIVE, (1, 17, 65), SOLVES):
        solve_on_gpu("cublas", tuning, n=n, algorithm=algorithm, dtype=dtype, **solve)
