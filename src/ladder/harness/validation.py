"""Check a variant's results: outputs are poisoned before a run, and must be within an error bound after it.

A bound follows from the arithmetic. For a sum of k products in working precision u, Higham (Accuracy and Stability of
Numerical Algorithms, 2002, section 3.1) gives |error| <= k u |a|.|b| in the worst case. Higham and Mary (A New
Approach to Probabilistic Rounding Error Analysis, 2019) give lambda sqrt(k) u |a|.|b| with overwhelming probability.
The smaller of the two is tight enough to detect a kernel whose precision is lower than declared. `product_factor` holds
for all data and is multiplied by |a|.|b|; `random_sum_factor` holds for products of random signs. Sums of products of
integers (`fill_with_integers`) are exact in any order, so their bound is 0.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from ladder.catalogue.declarations import UNCHECKABLE
from ladder.errors import LadderError
from ladder.harness.mismatches import extent, mismatches

# The significant bits of a product's operands on tensor cores, which sum in float32. In tf32x3 an operand is the sum of
# two TF32 numbers; the product of the two low parts is omitted.
OPERAND_BITS: dict[Any, int] = {"tf32": 11, "float16": 11, "bfloat16": 8, "tf32x3": 22}
# Higham and Mary's lambda: one sum exceeds its bound with a probability below 2 exp(-lambda^2 / 2) = 3e-8.
CONFIDENCE = 6.0
# The probability that a correct sum of random signs exceeds its bound.
FALSE_ALARM = 1e-9
# The standard deviation of a rounding error, in units of u |sum|. The error is uniform in [-h, h], where h is half the
# spacing of numbers, so its variance is h^2 / 3. For sums whose first digits follow Benford's law, the mean of h^2 is
# 3 / (8 log 2) = 0.54 of (u |sum|)^2.
ROUNDING_DEVIATION = (3 / (8 * np.log(2)) / 3) ** 0.5
# The number of terms up to which sums in float64 are compared with a reference in `np.longdouble`.
MAX_SHORT_LENGTH = 64
# Relative errors between which those of float32 lie; those of float64 are smaller.
FLOAT64_ERROR, FLOAT32_ERROR = 2.0**-32, 2.0**-18

# What is wrong if no result could pass.
WRONG_EXPECTATION = (
    "What the workload expects, or its bound, is NaN or infinite: look at `expected` or `check`, not at the variant."
)


@dataclass(frozen=True)
class Check:
    """One comparison: the largest error and the bound that it must not exceed, in the same unit.

    `place` says in sentences which elements are wrong; it is empty if none is. `reason` says what is wrong if the
    error is infinite.
    """

    name: str
    error: float
    bound: float
    place: str = ""
    reason: str = "isn't exact although it must be, or isn't finite"

    @property
    def passed(self) -> bool:
        """Whether the error is at most the bound; false if either is NaN."""
        return bool(self.error <= self.bound)


def unit_roundoff(dtype: DTypeLike) -> float:
    """u of a floating-point dtype, or of a precision's operands (OPERAND_BITS): half the spacing of numbers at 1."""
    return 2.0 ** -OPERAND_BITS[dtype] if dtype in OPERAND_BITS else float(np.finfo(dtype).eps) / 2


def rounding_factor(length: int, dtype: DTypeLike) -> float:
    """The factor before |a|.|b| in the error bound of a sum of `length` products in a dtype or precision."""
    if dtype in OPERAND_BITS:  # both operands of each product are rounded once, and tf32x3 omits a part
        operand_errors = (3 if dtype == "tf32x3" else 2) * unit_roundoff(dtype)
        return operand_errors + rounding_factor(length, np.float32)
    return min(length, CONFIDENCE * length**0.5) * unit_roundoff(dtype)


def product_factor(length: int, dtype: str) -> float:
    """`rounding_factor` of a variant's sum plus that of the float64 reference with which it is compared."""
    return rounding_factor(length, dtype) + rounding_factor(length, np.float64)


def random_sum_factor(length: int, dtype: DTypeLike) -> float:
    """The factor before the root of the sum of squared products, in the error bound of a sum of `length` products.

    It holds for products of random signs (Higham and Mary, Sharper Probabilistic Backward Error Analysis for Basic
    Linear Algebra Kernels with Random Data, 2020). The worst order adds one product after the other: the partial sums
    are a random walk, and each is rounded. Given the walk, the error is normal; its variance is that of a rounding
    times the sum of squared partial sums. This sum, in units of `length` times the squared root, exceeds x with a
    probability of about exp(-pi^2 x / 8) (Cameron and Martin, The Wiener Measure of Hilbert Neighborhoods, 1944). So
    the error exceeds t ROUNDING_DEVIATION u sqrt(length) times the root with a probability below 2 exp(-pi t / 2), here
    FALSE_ALARM. The roundings of the products are added. For short sums, k u |a|.|b| is smaller: |a|.|b| is at most
    sqrt(k) times the root (Cauchy-Schwarz).

    In a precision of tensor cores, rounding the operands adds errors of random signs to the products, and truncating
    them adds a mean error of equal size: three times their unit. This does not hold for tf32x3, whose operands are as
    exact as the sums, which tensor cores truncate.
    """
    if dtype in OPERAND_BITS:
        return 3 * CONFIDENCE * unit_roundoff(dtype) + random_sum_factor(length, np.float32)
    rarity = 2 * np.log(2 / FALSE_ALARM)
    walk, products = rarity / np.pi * length**0.5, rarity**0.5
    return min(length**1.5, ROUNDING_DEVIATION * (walk + products)) * unit_roundoff(dtype)


def growing_sum_factor(length: int, dtype: DTypeLike) -> float:
    """The factor before a sum of `length` terms of one sign and similar size, in its error bound.

    Partial sums grow evenly; their mean square is a third of the sum's. The error is normal as in `random_sum_factor`.
    """
    return min(length, ROUNDING_DEVIATION * (2 * np.log(2 / FALSE_ALARM) * length / 3) ** 0.5) * unit_roundoff(dtype)


def reference_type(length: int, dtype: str) -> type[Any]:
    """The type of the reference for sums of `length` products: of higher precision for short sums in float64."""
    return np.longdouble if length <= MAX_SHORT_LENGTH and dtype == "float64" else np.float64


def integer_bits(length: int, dtype: str) -> int:
    """The maximum number of bits, up to 7, of integers whose `length` products and their sums are exact in a dtype.

    The operands of every precision hold 7 bits and a sign. Raises LadderError if `length` is too large for 1 bit.
    """
    bits = min(7, (int(np.finfo(dtype).nmant) + 1 - int(np.ceil(np.log2(max(length, 1))))) // 2)
    if bits < 1:
        raise LadderError(f"Sums of {length} products of whole numbers aren't exact in {np.dtype(dtype)}.")
    return bits


def fill_with_integers(generator: np.random.Generator, array: np.ndarray, bits: int) -> None:
    """Fill an array with multiples of 2**-bits in [-1, 1], drawn by a NumPy generator."""
    array[...] = generator.integers(-(2**bits), 2**bits, array.shape, np.int16, endpoint=True)
    array *= 2.0**-bits


def poison_of(dtype: DTypeLike) -> float:
    """What every element of an output holds before a call: NaN, or the integer that is farthest from 0."""
    dtype = np.dtype(dtype)
    if dtype.kind == "f":
        return np.nan
    limits = np.iinfo(dtype)
    return int(limits.min or limits.max)


def poison(outputs: Mapping[str, np.ndarray]) -> None:
    """Fill every output array with `poison_of` its dtype, so that unwritten elements are detected."""
    for array in outputs.values():
        array[...] = poison_of(array.dtype)


def advice_on_poison(name: str, value: float) -> str:
    """What to do about an output that still holds its poison."""
    return (
        f"`{name}` holds {'NaN' if np.isnan(value) else value} before each call: write every element into "
        f"`problem.{name}` itself in each call, not into a copy or a new array, and don't add to what it holds."
    )


def hint_on_poison(outputs: Mapping[str, np.ndarray]) -> str:
    """`advice_on_poison` for the integer outputs with an element nearer to the poison than to 0; empty if none is.

    It belongs to a result that is known to be wrong, because a right one may have such elements.
    """
    integers = {name: array for name, array in outputs.items() if array.dtype.kind in "iu"}
    suspects = {name: value for name in integers if is_near(integers[name], value := poison_of(integers[name].dtype))}
    return " ".join(advice_on_poison(name, value) for name, value in suspects.items())


def is_near(array: np.ndarray, value: float) -> bool:
    """Whether an element of an integer array is nearer to `value`, a limit of its dtype, than to 0."""
    return bool((array < value // 2).any() if value < 0 else (array > value // 2).any())


def compare(
    name: str,
    actual: np.ndarray,
    expected: np.ndarray,
    bound: np.ndarray | float,
    rows: np.ndarray | range | None = None,
    projected: str | None = None,
) -> Check:
    """The Check of `actual` against the float64 array `expected`, elementwise within `bound`.

    The Check's `error` is the maximum of |actual - expected| / bound, so its `bound` is 1. Different shapes give an
    infinite error, as do a NaN or an infinity in one of the arrays. Elements whose bound is 0 must match exactly.
    If the arrays are some rows of the result, `rows` holds their numbers in order, and perhaps further ones, for the
    Check's `place`. If each element is the sum of a row or column of the result, `projected` is `row` or `column`.
    """
    actual, expected, bound = np.asarray(actual), np.asarray(expected), np.asarray(bound, dtype=np.float64)
    if actual.shape != expected.shape:
        place = f"Its shape is {actual.shape}, but {expected.shape} is expected."
        return Check(name, float("inf"), 1.0, place, "has another shape")
    if not (np.isfinite(expected).all() and np.isfinite(bound).all()):
        return Check(name, float("inf"), 1.0, WRONG_EXPECTATION, UNCHECKABLE)
    if not np.isfinite(actual).all():
        invalid = ~np.isfinite(actual)
        place = mismatches(invalid, invalid, actual, expected, rows, projected)
        return Check(name, float("inf"), 1.0, place, "isn't finite")
    difference = np.abs(actual.astype(np.float64) - expected)
    excess = np.divide(difference, bound, out=np.where(difference > 0, np.inf, 0.0), where=bound > 0)
    error = float(excess.max(initial=0.0))
    place = "" if error <= 1 else mismatches(excess, excess > 1, actual, expected, rows, projected)
    place += hint_on_precision(actual.dtype, difference, expected, bound) if place else ""
    return Check(name, error, 1.0, place, "isn't exact although it must be")


def hint_on_precision(dtype: np.dtype, difference: np.ndarray, expected: np.ndarray, bound: np.ndarray) -> str:
    """A sentence on float32, with a space before it, if an error has the size of float32's in float64; else empty.

    `dtype` is that of the output.
    """
    largest = np.abs(expected).max()
    if bound.max() < FLOAT64_ERROR * largest < difference.max() < FLOAT32_ERROR * largest:
        is_declared = dtype == np.float32
        place = "`arrays` declares the output so" if is_declared else "look for an array or a temporary of that type"
        return f" Such an error is that of float32: {place}."
    return ""


def require_finite(outputs: Mapping[str, np.ndarray], expected_kinds: Mapping[str, Any]) -> None:
    """Refuse outputs whose shape or dtype is not that of `expected_kinds`, or that have a NaN or an infinity."""
    for name, (shape, dtype) in expected_kinds.items():
        array = np.asarray(outputs[name])
        if array.shape != tuple(shape) or array.dtype != np.dtype(dtype):
            raise LadderError(
                f"The result {name!r} is {array.dtype} {array.shape}, but {np.dtype(dtype)} {tuple(shape)} is expected."
            )
        invalid = ~np.isfinite(array)
        if count := int(invalid.sum()):
            has_nan = np.isnan(array).any()
            cause = advice_on_poison(name, np.nan) if has_nan else "The computation overflows, or divides by 0."
            raise LadderError(
                f"{count} of the {array.size} elements of the result {name!r} are {'NaN' if has_nan else 'infinite'}, "
                f"in {extent(invalid)}. {cause}"
            )


def require(checks: Sequence[Check], where: str, hint: str = "") -> None:
    """Raise LadderError naming the first failed check and its wrong elements; `hint` is a sentence on the cause."""
    for check in checks:
        if check.passed:
            continue
        if check.error == np.inf:
            problem = f"{check.name!r} {check.reason}."
        else:
            problem = f"the error of {check.name!r} is {check.error:.3g}, but at most {check.bound:.3g} is allowed."
        raise LadderError(" ".join(filter(None, [f"The result is wrong ({where}): {problem}", check.place, hint])))
