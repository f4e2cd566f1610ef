"""Matrix-vector products: every variant at odd shapes through the workload's own check, and wrong ones caught."""

import itertools

import numpy as np
import pytest

import sanitized
from ladder import validation, workloads
from ladder.case import Case
from ladder.devices import host
from ladder.worker import make_problem
from ladder.workloads import gemv

COUNTS = (1, 2, 17, 1000, 4097)
SHAPES = list(itertools.product(COUNTS, COUNTS))
DTYPES = ("float64", "float32")
TUNINGS = {"openmp": {"threads": 2}, "openmp_bound": {"threads": 2, "binding": "spread"}, "blas": {"threads": 2}}
CUDA = [name for name in workloads.variants("gemv") if workloads.constants("gemv", name)["DEVICE"] == "cuda"]


def problem_of(n, m, dtype, variant="blas", round=0):
    """A filled and poisoned problem, its pages touched by the variant first if it wants that."""
    sizes = workloads.complete("gemv", {"n": n, "m": m, "dtype": dtype})
    module = workloads.load_variant("gemv", variant)
    problem = make_problem(gemv, Case("gemv", variant, sizes, TUNINGS[variant]), host, module)
    gemv.fill(problem.inputs, sizes, round, None)
    validation.poison(problem.outputs)
    return problem


def solve(problem):
    """Write the right result, rounded once."""
    problem.y[...] = np.einsum("ij,j->i", problem.matrix.astype(np.float64), problem.x.astype(np.float64))


def is_right(problem):
    arguments = problem.sizes, problem.inputs, problem.outputs, 0, None, None, problem.sizes["dtype"]
    (check,), point = gemv.check(*arguments)
    assert (check.name, point) == ("product", None)
    return check.passed


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("variant", TUNINGS)
def test_every_variant_is_right_and_leaves_its_inputs(variant, dtype):
    module = workloads.load_variant("gemv", variant)
    for n, m in SHAPES:
        problem = problem_of(n, m, dtype, variant)
        run = module.setup(problem, **TUNINGS[variant])
        for round in range(gemv.rounds(problem.sizes)):
            gemv.fill(problem.inputs, problem.sizes, round, None)
            validation.poison(problem.outputs)
            before = {name: array.copy() for name, array in problem.inputs.items()}
            run()
            validation.require_finite(problem.outputs, problem.output_kinds)
            assert is_right(problem), (n, m, round)
            assert all(np.array_equal(problem.inputs[name], before[name]) for name in before)


@pytest.mark.parametrize("threads", [1, 2, 3, 7])
@pytest.mark.parametrize("count", [1, 2, 6, 7, 8, 100])
def test_threads_share_all_rows_and_none_twice(count, threads):
    part_of = workloads.load_variant("gemv", "openmp").part_of
    parts = [part_of(count, thread, threads) for thread in range(threads)]
    assert [row for first, end in parts for row in range(first, end)] == list(range(count))
    lengths = [end - first for first, end in parts]
    assert max(lengths) - min(lengths) <= 1


def test_pages_are_touched_whole():
    module = workloads.load_variant("gemv", "openmp_bound")
    problem = problem_of(17, 5, "float64")
    module.first_touch(problem)
    assert not problem.matrix.any()
    assert not problem.y.any()


def test_other_rounds_have_other_inputs_and_the_same_round_the_same():
    first, again, other = (problem_of(17, 5, "float32", round=round) for round in (0, 0, 1))
    for name in ("matrix", "x"):
        assert np.array_equal(first.inputs[name], again.inputs[name])
        assert not (first.inputs[name] == other.inputs[name]).any()
        assert -1 <= first.inputs[name].min() < 0 < first.inputs[name].max() < 1


def without_last_column(problem):
    matrix, x = problem.matrix[:, :-1].astype(np.float64), problem.x[:-1].astype(np.float64)
    problem.y[...] = np.einsum("ij,j->i", matrix, x)


def without_last_row(problem):
    problem.y[-1] = 0


def stale(problem):
    """The result of the round before."""
    before = problem_of(*problem.matrix.shape, problem.sizes["dtype"], round=1)
    solve(before)
    problem.y[...] = before.y


def with_rows_exchanged(problem):
    problem.y[...] = np.roll(problem.y, 1)


def at_a_lower_precision(problem):
    lower = {"float64": np.float32, "float32": np.float16}[problem.sizes["dtype"]]
    matrix, x = (array.astype(lower).astype(np.float64) for array in (problem.matrix, problem.x))
    problem.y[...] = np.einsum("ij,j->i", matrix, x)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    "spoil", [without_last_column, without_last_row, stale, with_rows_exchanged, at_a_lower_precision]
)
def test_wrong_results_are_noticed(spoil, dtype):
    for n, m in SHAPES:
        if spoil is with_rows_exchanged and n == 1:
            continue
        problem = problem_of(n, m, dtype)
        solve(problem)
        assert is_right(problem), (n, m)
        spoil(problem)
        assert not is_right(problem), (n, m)


def test_a_product_of_floats_of_32_bits_in_a_case_of_64_is_noticed():
    for n, m in SHAPES:
        problem, lower = problem_of(n, m, "float64"), problem_of(n, m, "float32")
        lower.matrix[...], lower.x[...] = problem.matrix, problem.x
        workloads.load_variant("gemv", "openmp").setup(lower, threads=1)()
        problem.y[...] = lower.y
        assert not is_right(problem), (n, m)


def test_a_sum_in_order_is_within_the_bound_however_long():
    problem = problem_of(3, 300_001, "float32")
    problem.y[...] = np.cumsum(problem.matrix * problem.x, axis=1, dtype=np.float32)[:, -1]
    assert is_right(problem)
    problem.y[1] += 1
    assert not is_right(problem)


@pytest.mark.parametrize(("n", "m"), [(3, 70_000), (70_000, 3), (1, 2**16 + 1), (300, 257)])
def test_one_wrong_element_is_noticed_wherever_it_is(n, m):
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


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("variant", CUDA)
@pytest.mark.parametrize(("n", "m"), SHAPES)
def test_every_variant_for_a_gpu_is_right_at_odd_shapes(variant, dtype, n, m):
    case = sanitized.case("gemv", variant, {}, n=n, m=m, dtype=dtype)
    validation.require(sanitized.judged(sanitized.solved(case, round=1), case, round=1), variant)
