"""GEMM: every host variant at odd shapes passes the workload's check, and wrong results don't."""

import itertools
import shutil
from importlib.util import find_spec

import numpy as np
import pytest

import emulator
from ladder.catalogue import workloads
from ladder.data import dataset
from ladder.data.digits import write as write_digits
from ladder.errors import LadderError
from ladder.harness import validation
from ladder.harness.worker import make_problem
from ladder.records.case import Case
from ladder.workloads import gemm

pytestmark = pytest.mark.xdist_group("gemm")  # its functions are compiled once
FORMS = ("nn", "tn", "nt")
DTYPES = ("float64", "float32")
SHAPES = [(1, 1, 1), (17, 1, 65), (1, 65, 17), (65, 17, 1), (33, 65, 129)]
NEEDS_GCC = pytest.mark.skipif(not shutil.which("gcc"), reason="requires gcc")
NEEDS_TORCH = pytest.mark.skipif(not find_spec("torch"), reason="requires PyTorch: pip install torch")
NEEDS = {"c_openmp": [NEEDS_GCC], "pytorch": [NEEDS_TORCH]}
VARIANTS = ("openmp", "interchanged", "tiled", "blas", "c_openmp", "pytorch")
SUBSCRIPTS = {"nn": "ik,kj->ij", "tn": "ki,kj->ij", "nt": "ik,jk->ij"}
# So large that m n k exceeds `gemm.MAX_FULL_CHECK_FMAS` and rows are sampled.
BIG_SIZES = {"m": 301, "n": 257, "k": 263}


def marked_combinations(variants, forms):
    """Each variant in each form and dtype; one dtype of each variant and form, alternately, is for the slow tests."""
    parameters = []
    for variant, form, dtype in itertools.product(variants, forms, DTYPES):
        number = VARIANTS.index(variant) + FORMS.index(form) + DTYPES.index(dtype)
        is_slow = dtype == "float32" if variant == "tiled" else number % 2
        marks = NEEDS.get(variant, []) + [pytest.mark.slow] * is_slow
        parameters.append(pytest.param(variant, form, dtype, marks=marks))
    return parameters


def problem_of(round=0, dataset=None, **sizes):
    """A problem with filled inputs and outputs of NaN."""
    sizes = workloads.complete("gemm", sizes)
    problem = make_problem(gemm, Case("gemm", "blas", sizes, {"threads": 1}), emulator.guarded_host())
    gemm.fill(problem.inputs, sizes, round, dataset)
    validation.poison(problem.outputs)
    return problem


def solve(problem):
    """Write the correct result, rounded once, and return it."""
    a, b = (array.astype(np.float64) for array in (problem.a, problem.b))
    exact = np.einsum(SUBSCRIPTS[problem.sizes["form"]], a, b, optimize=True)
    problem.out[...] = exact if problem.c is None else exact + problem.c
    return problem.out


def checks_of(problem, round=0):
    """The checks of the problem's output, by name."""
    arguments = problem.sizes, problem.inputs, problem.outputs, round, None, None, problem.sizes["dtype"]
    checks, point = gemm.check(*arguments)
    assert point is None
    return {check.name: check for check in checks}


def is_right(problem, round=0):
    return all(check.passed for check in checks_of(problem, round).values())


@pytest.mark.parametrize(("variant", "form", "dtype"), marked_combinations(VARIANTS, FORMS))
def test_every_variant_is_right_and_leaves_its_inputs(variant, form, dtype):
    module = workloads.load_variant("gemm", variant)
    for m, n, k in SHAPES:
        problem = problem_of(form=form, m=m, n=n, k=k, dtype=dtype)
        run = module.setup(problem, threads=1)
        for round in range(gemm.rounds(problem.sizes)):
            gemm.fill(problem.inputs, problem.sizes, round, None)
            validation.poison(problem.outputs)
            before = {name: array.copy() for name, array in problem.inputs.items()}
            run()
            validation.require_finite(problem.outputs, problem.output_kinds)
            assert is_right(problem, round), (m, n, k, round)
            assert all(np.array_equal(problem.inputs[name], before[name]) for name in before)
            assert emulator.are_intact(problem.device.guards), "memory behind an array was written"


@pytest.mark.parametrize(("variant", "form", "dtype"), marked_combinations(VARIANTS[:4], ["nt"]))
def test_a_product_of_the_form_nt_may_lack_the_addend(variant, form, dtype):
    multiply = workloads.load_variant("gemm", variant).product(form)
    for m, n, k in SHAPES:
        problem = problem_of(form=form, m=m, n=n, k=k, dtype=dtype)
        for addend in (None, problem.c):
            problem.inputs["c"] = addend
            problem.out[...] = np.nan
            multiply(problem.a, problem.b, problem.out, addend)
            assert is_right(problem), (m, n, k, addend is None)


@NEEDS_TORCH
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("form", FORMS)
def test_pytorch_copies_no_operand_and_the_form_nt_may_lack_the_addend(form, dtype):
    from torch.profiler import ProfilerActivity, profile

    for m, n, k in SHAPES:
        problem = problem_of(form=form, m=m, n=n, k=k, dtype=dtype)
        for addend in (problem.c, None):
            problem.c = problem.inputs["c"] = addend
            validation.poison(problem.outputs)
            run = workloads.load_variant("gemm", "pytorch").setup(problem, threads=1)
            with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiler:
                run()
            assert is_right(problem), (m, n, k, addend is None)
            calls = profiler.key_averages()
            assert sum(call.count for call in calls if call.key == "aten::copy_") == (addend is not None)
            assert all(call.self_cpu_memory_usage == 0 for call in calls)


def test_only_the_form_nt_has_an_addend_and_it_is_checked():
    assert problem_of(form="nn", m=2, n=2, k=2).c is None
    problem = problem_of(form="nt", m=5, n=6, k=7)
    solve(problem)
    assert is_right(problem)
    problem.out -= problem.c
    assert not is_right(problem)
    problem.out += np.roll(problem.c, 1, axis=0)
    assert not is_right(problem)


def test_other_rounds_have_other_inputs_and_the_same_round_the_same():
    first, repeated, other = (problem_of(round, form="nt", m=3, n=4, k=5) for round in (0, 0, 1))
    for name in "abc":
        assert np.array_equal(first.inputs[name], repeated.inputs[name])
        assert not np.array_equal(first.inputs[name], other.inputs[name])
        assert np.abs(first.inputs[name]).max() <= 1


@pytest.fixture(scope="module")
def digits(tmp_path_factory):
    folder = tmp_path_factory.mktemp("digits")
    write_digits(folder)
    return dataset.load(folder)


@pytest.mark.parametrize("form", FORMS)
def test_operands_are_cropped_from_images(digits, form):
    problem = problem_of(1, digits, form=form, m=65, n=17, k=129, source="digits")
    assert gemm.data_set(problem.sizes) == "digits"
    images = digits.train_images.reshape(len(digits.train_images), 784)
    rows, columns = problem.a.shape
    assert np.array_equal(problem.a, images[17 : 17 + rows, :columns] / 255.0)
    workloads.load_variant("gemm", "blas").setup(problem, threads=1)()
    assert is_right(problem)


def test_more_rows_than_images_repeat_the_images(digits):
    count = len(digits.train_images)
    cropped = gemm.crop(digits.train_images, (count + 5, 784), 1)
    assert cropped.shape == (count + 5, 784)
    assert np.array_equal(cropped[:5], cropped[count:])
    assert 0 <= cropped.min() < cropped.max() <= 1


def test_a_matrix_with_more_columns_than_pixels_is_refused():
    workloads.complete("gemm", {"m": 800, "n": 1, "k": 784, "source": "mnist"})
    workloads.complete("gemm", {"form": "tn", "m": 784, "n": 1, "k": 800, "source": "mnist"})
    with pytest.raises(LadderError, match="784 pixels"):
        workloads.complete("gemm", {"form": "tn", "m": 785, "n": 1, "k": 1, "source": "mnist"})


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("form", FORMS)
def test_the_bound_notices_an_error_of_one_percent(form, dtype):
    for m, n, k in [*SHAPES, tuple(BIG_SIZES.values())]:
        problem = problem_of(form=form, m=m, n=n, k=k, dtype=dtype)
        a, b = problem.a, problem.b
        np.matmul(a.T if form == "tn" else a, b.T if form == "nt" else b, out=problem.out)
        if problem.c is not None:
            problem.out += problem.c
        assert all(check.error / check.bound < 1 for check in checks_of(problem).values())
        problem.out *= 1.01
        assert not is_right(problem)
        problem.out *= 0
        assert not is_right(problem)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("form", FORMS)
def test_a_lower_precision_is_noticed(form, dtype):
    lower = {"float64": np.float32, "float32": np.float16}[dtype]
    for sizes in ({"m": 17, "n": 65, "k": 33}, BIG_SIZES):
        problem = problem_of(form=form, dtype=dtype, **sizes)
        solve(problem)
        assert is_right(problem)
        a, b = problem.a.astype(lower).astype(np.float64), problem.b.astype(lower).astype(np.float64)
        problem.out[...] = np.einsum(SUBSCRIPTS[form], a, b, optimize=True) + (0 if problem.c is None else problem.c)
        assert not is_right(problem)


def round_to_bits(x, bits):
    """Float64 values rounded to this many significant bits."""
    fraction, exponent = np.frexp(x)
    return np.ldexp(np.round(fraction * 2.0**bits), exponent - bits)


def sum_of_tf32_parts(x):
    """The float32 operand that two parts of TF32 represent."""
    return round_to_bits(x, 11) + round_to_bits(x - round_to_bits(x, 11), 11)


# {precision: a function from an operand to the operand that the precision represents}.
ROUNDED_OPERANDS = {
    "tf32x3": sum_of_tf32_parts,
    "float16": lambda x: round_to_bits(x, 11),
    "tf32": lambda x: round_to_bits(x, 11),
    "bfloat16": lambda x: round_to_bits(x, 8),
}


@pytest.mark.parametrize("shape", [(1, 1, 1), (65, 17, 1), (17, 33, 65)], ids=str)
@pytest.mark.parametrize("checked_precision", ["float32", *ROUNDED_OPERANDS])
@pytest.mark.parametrize("operand_precision", ROUNDED_OPERANDS)
def test_a_precision_is_within_its_own_bound_and_beyond_that_of_a_higher_one(
    operand_precision, checked_precision, shape
):
    """float16 and TF32 keep equally many bits of numbers near 1, two parts of TF32 nearly as many as float32."""
    bits = {"float32": 24, "tf32x3": 22, "float16": 11, "tf32": 11, "bfloat16": 8}
    m, n, k = shape
    problem = problem_of(m=m, n=n, k=k, dtype="float32")
    a, b = (ROUNDED_OPERANDS[operand_precision](array.astype(np.float64)) for array in (problem.a, problem.b))
    problem.out[...] = a @ b
    checks, _ = gemm.check(problem.sizes, problem.inputs, problem.outputs, 0, None, None, checked_precision)
    has_passed = all(check.passed for check in checks)
    if bits[operand_precision] >= bits[checked_precision]:
        assert has_passed
    elif bits[operand_precision] < 12 and m > 1:  # the error of a single element may be small by chance
        assert not has_passed


@pytest.mark.parametrize("form", FORMS)
def test_one_wrong_element_of_a_big_product_is_noticed_anywhere(form):
    problem = problem_of(form=form, **BIG_SIZES)
    solve(problem)
    check_names = "product", "rows projected", "columns projected"
    assert set(checks_of(problem)) == {*check_names, *(f"{name}, random signs" for name in check_names)}
    assert is_right(problem)
    sampled = set(gemm.sampled_rows(BIG_SIZES["m"], problem.sizes["seed"]))
    unsampled_row = next(row for row in range(BIG_SIZES["m"]) if row not in sampled)
    for row, column in [
        (0, 0),
        (BIG_SIZES["m"] - 1, BIG_SIZES["n"] - 1),
        (unsampled_row, 0),
        (unsampled_row, BIG_SIZES["n"] - 1),
    ]:
        right = problem.out[row, column]
        for wrong in (right + 1e-6, np.nan, np.inf):
            problem.out[row, column] = wrong
            names = [name for name, check in checks_of(problem).items() if not check.passed]
            assert {"rows projected", "columns projected"} <= set(names)
            assert ("product" in names) == (row in sampled)
        problem.out[row, column] = right
    assert is_right(problem)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("form", FORMS)
def test_sums_of_whole_numbers_are_exact_in_every_order_and_nothing_else_passes(form, dtype):
    problem = problem_of(1, form=form, m=17, n=5, k=65, dtype=dtype)
    a, b = (problem.a.T if form == "tn" else problem.a), (problem.b.T if form == "nt" else problem.b)
    terms = [np.outer(a[:, p], b[p]) for p in range(65)]
    terms += [] if problem.c is None else [problem.c]
    for order in (terms, terms[::-1], sorted(terms, key=lambda term: term[0, 0])):
        problem.out[...] = sum(order, np.zeros_like(problem.out))
        assert set(checks_of(problem, round=1)) == {"product, whole numbers"}
        assert is_right(problem, round=1)
    for operands in ROUNDED_OPERANDS.values():
        assert np.array_equal(operands(a.astype(np.float64)), a)
    right = problem.out[16, 4]
    problem.out[16, 4] = np.nextafter(right, np.inf, dtype=dtype)
    assert not is_right(problem, round=1)


def test_a_last_bit_of_a_big_product_of_whole_numbers_is_noticed_anywhere():
    problem = problem_of(1, form="nn", **BIG_SIZES)
    solve(problem)
    assert is_right(problem, round=1)
    sampled = set(gemm.sampled_rows(BIG_SIZES["m"], problem.sizes["seed"]))
    unsampled_row = next(row for row in range(BIG_SIZES["m"]) if row not in sampled)
    right, bits = problem.out[unsampled_row, -1], validation.integer_bits(BIG_SIZES["k"] + 1, problem.sizes["dtype"])
    unit = 4.0**-bits  # operands are multiples of 2^-bits, so products are multiples of this
    for wrong, names in (
        (np.nextafter(right, np.inf), {"whole numbers"}),
        (right + unit, {"rows projected, whole numbers", "columns projected, whole numbers"}),
    ):
        problem.out[unsampled_row, -1] = wrong
        assert names <= {name for name, check in checks_of(problem, round=1).items() if not check.passed}


def test_errors_that_cancel_in_a_row_are_noticed():
    """Exchanging two elements of a row doesn't change the sum of the row."""
    problem = problem_of(form="nn", **BIG_SIZES)
    out = solve(problem)
    unsampled_row = next(row for row in range(BIG_SIZES["m"]) if row not in gemm.sampled_rows(BIG_SIZES["m"], 1))
    out[unsampled_row, [3, 200]] = out[unsampled_row, [200, 3]]
    assert not is_right(problem)


@pytest.mark.parametrize("m", [17, 300])
def test_a_transposed_result_is_noticed(m):
    problem = problem_of(form="nn", m=m, n=m, k=m)
    solve(problem)
    problem.out[...] = problem.out.T.copy()
    assert not is_right(problem)


def test_a_result_of_another_shape_is_noticed():
    problem = problem_of(form="nn", m=4, n=6, k=5)
    problem.outputs["out"] = solve(problem).reshape(6, 4)
    assert not is_right(problem)
    with pytest.raises(LadderError, match=r"is float64 \(6, 4\), but float64 \(4, 6\) is expected"):
        validation.require_finite(problem.outputs, problem.output_kinds)


def test_unwritten_elements_are_refused_with_their_number():
    problem = problem_of(form="nn", m=3, n=3, k=3)
    solve(problem)[1, :2] = np.nan
    with pytest.raises(LadderError, match="2 of the 9 elements of the result 'out' are NaN"):
        validation.require_finite(problem.outputs, problem.output_kinds)


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf])
def test_no_result_passes_if_the_reference_or_the_bound_is_not_finite(wrong):
    for expected, bound in [([1.0, wrong], 1.0), ([1.0, 2.0], wrong), ([1.0, wrong], 0.0), ([1.0, wrong], wrong)]:
        assert not validation.compare("x", [1.0, 2.0], expected, bound).passed


def test_a_bound_of_zero_requires_an_exact_result():
    assert validation.compare("x", [0.0, 1.0], [0.0, 1.0], [0.0, 1.0]).passed
    assert not validation.compare("x", [5e-324, 1.0], [0.0, 1.0], [0.0, 1.0]).passed


def test_the_cost_counts_every_operand_once():
    for form, (m, n, k) in itertools.product(FORMS, SHAPES):
        sizes = workloads.complete("gemm", {"form": form, "m": m, "n": n, "k": k, "dtype": "float32"})
        has_addend = form == "nt"
        assert gemm.cost(sizes).flops == 2 * m * n * k + has_addend * m * n
        assert gemm.cost(sizes).bytes == 4 * (m * k + k * n + m * n + has_addend * m * n)
