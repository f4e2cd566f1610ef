"""Checking results: bounds compared with values computed by hand, and results that must not pass."""

import math

import numpy as np
import pytest

from ladder.errors import LadderError
from ladder.harness import validation

U32, U64 = 2.0**-24, 2.0**-53  # the unit roundoffs of float32 and float64


@pytest.mark.parametrize(
    ("length", "dtype", "factor"),
    [
        (1, "float64", U64),
        (36, "float64", 36 * U64),  # here the worst-case bound equals the probable one
        (10_000, "float64", 600 * U64),  # 6 · 10_000^½, as for all longer sums
        (25, "float32", 25 * U32),
        (400, "float32", 120 * U32),
        (400, "tf32", 2 * 2.0**-11 + 120 * U32),
        (400, "float16", 2 * 2.0**-11 + 120 * U32),
        (400, "bfloat16", 2 * 2.0**-8 + 120 * U32),
        (400, "tf32x3", 3 * 2.0**-22 + 120 * U32),
    ],
)
def test_the_bound_of_a_sum_is_right(length, dtype, factor):
    assert validation.rounding_factor(length, dtype) == pytest.approx(factor, rel=1e-12)
    reference_factor = min(length, 6 * math.sqrt(length)) * U64
    assert validation.product_factor(length, dtype) == pytest.approx(factor + reference_factor, rel=1e-12)


def test_the_bound_of_a_sum_of_random_signs_is_right():
    """By the formulas in the function's docstring; a right sum exceeds its bound with a probability of 1e-9."""
    rarity, rounding = 2 * math.log(2 / 1e-9), math.sqrt(1 / (8 * math.log(2)))
    long_factor = rounding * (rarity / math.pi * 10 + math.sqrt(rarity))
    assert validation.random_sum_factor(100, "float32") == pytest.approx(long_factor * U32, rel=1e-12)
    assert validation.random_sum_factor(4, "float32") == pytest.approx(8 * U32, rel=1e-12)  # the worst-case bound
    assert validation.random_sum_factor(100, "tf32") == pytest.approx(18 * 2.0**-11 + long_factor * U32, rel=1e-12)


def test_the_bound_of_a_sum_of_one_sign_is_right():
    rounding = math.sqrt(1 / (8 * math.log(2)))
    long_factor = rounding * math.sqrt(2 * math.log(2 / 1e-9) * 300 / 3)
    assert validation.growing_sum_factor(300, "float32") == pytest.approx(long_factor * U32, rel=1e-12)
    assert validation.growing_sum_factor(2, "float64") == pytest.approx(2 * U64, rel=1e-12)


def sequential_sum(terms):
    """The sum over the first axis in float32, adding one term after the other."""
    total = np.zeros(terms.shape[1:], np.float32)
    for term in terms:
        total += term
    return total


@pytest.mark.parametrize("signs", [(-1, 1), (1,)])
def test_errors_of_sums_are_as_rare_as_their_bound_says(monkeypatch, signs):
    """Of 200,000 sums, fewer than 1 in 1,000 exceed the bound for that probability, but more exceed a third of it."""
    monkeypatch.setattr(validation, "FALSE_ALARM", 1e-3)
    generator = np.random.default_rng(1)
    terms = generator.random((64, 200_000), np.float32) * generator.choice(np.float32(signs), (64, 200_000))
    exact = terms.sum(axis=0, dtype=np.float64)
    error = np.abs(sequential_sum(terms) - exact)
    if len(signs) == 2:
        bound = validation.random_sum_factor(64, "float32") * np.sqrt(np.square(terms, dtype=np.float64).sum(axis=0))
    else:
        bound = validation.growing_sum_factor(64, "float32") * exact
    assert (error > bound).mean() < 1e-3
    assert (error > bound / 3).mean() > 1e-3


def test_short_sums_have_a_reference_with_more_bits():
    assert validation.reference_type(64, "float64") == np.longdouble
    assert validation.reference_type(65, "float64") == np.float64
    assert validation.reference_type(64, "float32") == np.float64


@pytest.mark.parametrize(
    ("length", "dtype", "bits"),
    [(1, "float32", 7), (1024, "float32", 7), (1025, "float32", 6), (2**22, "float32", 1), (2**30, "float64", 7)],
)
def test_sums_of_products_of_whole_numbers_fit_in_a_type(length, dtype, bits):
    assert validation.integer_bits(length, dtype) == bits
    largest = np.asarray(length * 2.0 ** (2 * bits), dtype)
    assert largest == length * 2 ** (2 * bits)
    assert largest - np.asarray(1, dtype) != largest  # and so does every whole number below


def test_sums_too_long_for_whole_numbers_are_refused():
    with pytest.raises(LadderError, match="Sums of 4194305 products of whole numbers aren't exact in float32"):
        validation.integer_bits(2**22 + 1, "float32")


def test_whole_numbers_are_multiples_within_one():
    array = np.empty((100, 100), "float32")
    validation.fill_with_integers(np.random.default_rng(1), array, 3)
    assert set((array * 8).ravel()) == set(range(-8, 9))


def test_unwritten_elements_are_poisoned():
    outputs = {"real": np.zeros(3), "single": np.zeros((2, 1), np.float32), "count": np.zeros(2, np.int32)}
    outputs["pixels"] = np.zeros(2, np.uint8)  # not to hold 0: it may be right, and so is a sum that starts from it
    validation.poison(outputs)
    assert np.isnan(outputs["real"]).all()
    assert np.isnan(outputs["single"]).all()
    assert (outputs["count"] == -(2**31)).all()
    assert (outputs["pixels"] == 255).all()


@pytest.mark.parametrize(
    ("actual", "bound", "error"),  # where 1 and 2 are expected
    [
        ([1.0, 2.0], [0.0, 0.0], 0.0),
        ([1.0, 2.5], [1.0, 2.0], 0.25),
        ([1.5, 2.0], [0.0, 1.0], math.inf),  # an element whose bound is 0 must be exact
        ([1.0, math.nan], [1.0, 1.0], math.inf),
        ([1.0, math.inf], [1.0, 1.0], math.inf),
        ([1.0], [1.0], math.inf),
        ([[1.0], [2.0]], [1.0, 1.0], math.inf),
        ([1.0, 2.0], [1.0, math.inf], math.inf),
        ([1.0, 2.0], [math.nan, 1.0], math.inf),
    ],
)
def test_the_largest_error_is_that_of_the_worst_element(actual, bound, error):
    check = validation.compare("x", np.array(actual), np.array([1.0, 2.0]), bound)
    assert (check.error, check.bound, check.passed) == (error, 1.0, error <= 1)


def test_nothing_passes_if_the_expected_value_or_bound_is_nan():
    assert not validation.compare("x", [1.0], [math.nan], [1.0]).passed
    assert not validation.Check("x", math.nan, 1.0).passed
    assert not validation.Check("x", 1.0, math.nan).passed


@pytest.mark.parametrize(
    ("array", "words"),
    [
        (np.ones((2, 3)), None),
        (np.ones((3, 2)), r"is float64 \(3, 2\), but float64 \(2, 3\) is expected"),
        (np.ones((2, 3), np.float32), r"is float32 \(2, 3\), but float64 \(2, 3\) is expected"),
        (np.array([[1, 1, np.nan], [np.inf, 1, 1]]), "2 of the 6 elements of the result 'out' are NaN, in "),
    ],
)
def test_results_of_another_shape_or_dtype_or_not_finite_are_refused(array, words):
    if words is None:
        validation.require_finite({"out": array}, {"out": ((2, 3), "float64")})
    else:
        with pytest.raises(LadderError, match=words):
            validation.require_finite({"out": array}, {"out": ((2, 3), "float64")})


def test_the_first_check_that_fails_is_named():
    good, bad, worse = (validation.Check(name, error, 1.0) for name, error in (("a", 1.0), ("b", 1.1), ("c", 9.0)))
    validation.require([good], "round 1")
    with pytest.raises(LadderError, match=r"\(round 2\): the error of 'b' is 1\.1, but at most 1 is allowed"):
        validation.require([good, bad, worse], "round 2")


@pytest.mark.parametrize(
    ("wrong", "rows", "sentences"),
    [
        ({}, None, ""),
        (
            {(2, 1): 3.5, (2, 4): 2.25},
            None,
            "Element [2, 1] is 3.5, but 2 is expected. 2 of the 15 compared elements are wrong, in 1 of 3 rows (2) "
            "and 2 of 5 columns (1 to 4).",
        ),
        (
            {(0, 1): 1.5, (2, 1): 3.5},
            [0, 7, 64],
            "Element [64, 1] is 3.5, but 2 is expected. 2 of the 15 compared elements are wrong, in 2 of 3 rows "
            "(0 to 64) and 1 of 5 columns (1).",
        ),
        (
            {(1, 0): math.nan},
            None,
            "Element [1, 0] is nan, but 2 is expected. 1 of the 15 compared elements is wrong, in 1 of 3 rows (1) "
            "and 1 of 5 columns (0).",
        ),
    ],
)
def test_a_check_says_which_elements_are_wrong(wrong, rows, sentences):
    actual = np.full((3, 5), 2.0)
    for index, value in wrong.items():
        actual[index] = value
    check = validation.compare("x", actual, np.full((3, 5), 2.0), 0.125, rows)
    assert check.place == sentences


def test_the_place_fits_any_number_of_dimensions():
    assert "is 1, but 0 is expected." in validation.compare("x", 1.0, 0.0, 0.5).place
    assert "in 1 of 4 elements (3)." in validation.compare("x", [0.0, 0, 0, 1], np.zeros(4), 0.5).place
    cube = np.zeros((2, 3, 4))
    cube[1, 2, 3] = 1
    place = validation.compare("x", cube, np.zeros((2, 3, 4)), 0.5).place
    assert place.startswith("Element [1, 2, 3] is 1, but 0 is expected.")
    assert place.endswith(
        "positions of axis 0 (1) and 1 of 3 positions of axis 1 (2) and 1 of 4 positions of axis 2 (3)."
    )
    assert validation.compare("x", np.zeros((2, 3)), np.zeros((3, 2)), 1.0).place == (
        "Its shape is (2, 3), but (3, 2) is expected."
    )


def test_a_refusal_has_the_place_and_the_hint():
    check = validation.compare("x", [0.0, 1.0], np.zeros(2), 0.5)
    with pytest.raises(LadderError, match=r"at most 1 is allowed\. Element \[1\] is 1, .* \(1\)\. It was kept\.$"):
        validation.require([check], "round 2", "It was kept.")


def test_unwritten_elements_have_a_place():
    array = np.ones((4, 3))
    array[3, :2] = np.nan
    with pytest.raises(LadderError, match=r"in 1 of 4 rows \(3\) and 2 of 3 columns \(0 to 1\)\. `out` holds NaN"):
        validation.require_finite({"out": array}, {"out": ((4, 3), "float64")})


def test_an_infinite_result_is_not_called_unwritten():
    with pytest.raises(LadderError, match=r"1 of the 2 elements .* are infinite, .* The computation overflows, or"):
        validation.require_finite({"out": np.array([np.inf, 1])}, {"out": ((2,), "float64")})


@pytest.mark.parametrize("dtype", ["int32", "int64", "uint8", "uint64"])
def test_integers_that_were_left_unwritten_or_added_to_get_a_hint(dtype):
    outputs = {"count": np.zeros(3, dtype)}
    validation.poison(outputs)
    poison = outputs["count"][0]
    assert f"`count` holds {poison} before each call: write every element" in validation.hint_on_poison(outputs)
    outputs["count"][1:] = 5
    assert validation.hint_on_poison(outputs)
    outputs["count"][0] = 7
    assert not validation.hint_on_poison(outputs | {"out": np.full(2, np.nan)})


def test_the_numbers_of_rows_may_be_a_range():
    place = validation.compare("x", [0.0, 1, 0, 1], np.zeros(4), 0.5, range(100, 10**12)).place
    assert place.startswith("Element [101] is 1")
    assert place.endswith("in 2 of 4 elements (101 to 103).")


def test_a_projection_names_the_row_of_the_result():
    place = validation.compare("x", [0.0, 2, 1, 0], np.zeros(4), 0.5, projected="row").place
    assert place == (
        "The sum of row 1 of the result, with random signs, is 2, but 0 is expected. "
        "Wrong elements are in 2 of 4 rows (1 to 2)."
    )


@pytest.mark.parametrize(
    ("actual", "expected", "bound", "problem"),
    [
        ([1.0, 2.0], [1.0, 3.0], 0.0, r"'x' isn't exact although it must be\. Element \[1\] is 2, but 3"),
        ([1.0, math.inf], [1.0, 2.0], 1.0, r"'x' isn't finite\. Element \[1\] is inf, but 2"),
        ([1.0, 2.0], [[1.0], [2.0]], 1.0, r"'x' has another shape\. Its shape is \(2,\), but \(2, 1\)"),
        ([1.0, 2.0], [1.0, 2.0], math.inf, r"'x' can't be checked\. What the workload expects, .* not at the variant"),
        ([1.0, 2.0], [1.0, math.nan], 1.0, r"'x' can't be checked\."),
    ],
)
def test_an_infinite_error_has_one_reason(actual, expected, bound, problem):
    with pytest.raises(LadderError, match=problem):
        validation.require([validation.compare("x", actual, expected, bound)], "round 1")
