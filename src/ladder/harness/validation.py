"""Judging a variant's results: poison before the run, finite and within the bound after it.

A bound follows from the arithmetic. For a sum of k products in working precision u, Higham (Accuracy and Stability of
Numerical Algorithms, 2002, section 3.1) gives |error| <= k u |a|.|b| in the worst case, and Higham and Mary (A New
Approach to Probabilistic Rounding Error Analysis, 2019) lambda sqrt(k) u |a|.|b| with overwhelming probability. The
smaller of the two is also tight enough to notice a kernel that works at a lower precision than it says.
`product_factor` is for all data, and multiplied by |a|.|b|; `random_sum_factor` is for products of random signs. Sums
of products of `whole_numbers` have no rounding at all, in whatever order, and no bound but 0.
"""

from dataclasses import dataclass

import numpy as np

from ladder.errors import LadderError

# The significant bits that tensor cores keep of a product's operands, while the sums are float32's. In tf32x3 an
# operand is the sum of two numbers of TF32's; the product of the two rests is left out.
OPERAND_BITS = {"tf32": 11, "float16": 11, "bfloat16": 8, "tf32x3": 22}
# Higham and Mary's lambda: one sum exceeds its bound with a probability below 2 exp(-lambda^2 / 2) = 3e-8.
CONFIDENCE = 6.0
# With which probability a right sum of random signs exceeds its bound.
RARE = 1e-9
# The standard deviation of a rounding, in u |sum|: uniform within half a spacing, which is u |sum| at most, and in the
# mean over numbers of all sizes, whose first digits are Benford's, 0.54 of its square.
ROUNDING = (3 / (8 * np.log(2)) / 3) ** 0.5
# The longest sums whose float64 results are compared with a reference in `np.longdouble`.
SHORT = 64


@dataclass(frozen=True)
class Check:
    """One comparison: the largest error found and the bound it must not exceed, in the same unit."""

    name: str
    error: float
    bound: float

    @property
    def passed(self):
        """A NaN on either side fails."""
        return bool(self.error <= self.bound)


def unit_roundoff(dtype):
    """u of a floating-point dtype, or of a precision's operands (OPERAND_BITS): half its spacing at 1."""
    return 2.0 ** -OPERAND_BITS[dtype] if dtype in OPERAND_BITS else float(np.finfo(dtype).eps) / 2


def rounding_factor(length, dtype):
    """The factor before |a|.|b| in the error bound of a sum of `length` products in a dtype or precision."""
    if dtype in OPERAND_BITS:  # both operands of each product are rounded once, and perhaps a part is left out
        lost = (3 if dtype == "tf32x3" else 2) * unit_roundoff(dtype)
        return lost + rounding_factor(length, np.float32)
    return min(length, CONFIDENCE * length**0.5) * unit_roundoff(dtype)


def product_factor(length, dtype):
    """`rounding_factor` of a variant's sum and of the float64 reference's own, which is compared with it."""
    return rounding_factor(length, dtype) + rounding_factor(length, np.float64)


def random_sum_factor(length, dtype):
    """The factor before the root of the sum of squared products, in the error bound of a sum of `length` of them.

    For products whose signs are random (Higham and Mary, Sharper Probabilistic Backward Error Analysis for Basic Linear
    Algebra Kernels with Random Data, 2020). Added one after the other, which is worst, partial sums are a random walk,
    and each is rounded; given the walk, the error is normal, its variance that of a rounding times the sum of squared
    partial sums. That sum, in units of `length` times the squared root, exceeds x with a probability of about exp(-pi^2
    x / 8) (Cameron and Martin, The Wiener Measure of Hilbert Neighborhoods, 1944), so that the error exceeds t of its
    units with exp(-pi t / 2), here RARE. The roundings of the products come in addition. In short sums k u |a|.|b| is
    less, whatever the signs, since |a|.|b| is at most sqrt(k) times that root (Cauchy and Schwarz).

    In a precision of tensor cores the operands' roundings add errors of random signs to the products, and where bits
    are cut off in place of rounding, a mean of as much: three times their unit. It isn't for tf32x3, whose operands are
    no less exact than the sums, which tensor cores cut off.
    """
    if dtype in OPERAND_BITS:
        return 3 * CONFIDENCE * unit_roundoff(dtype) + random_sum_factor(length, np.float32)
    rarity = 2 * np.log(2 / RARE)
    walk, products = rarity / np.pi * length**0.5, rarity**0.5
    return min(length**1.5, ROUNDING * (walk + products)) * unit_roundoff(dtype)


def growing_sum_factor(length, dtype):
    """The factor before a sum of `length` terms of one sign and like size, in its error bound.

    Partial sums grow evenly, their mean square is a third of the sum's; the error is normal as in `random_sum_factor`.
    """
    return min(length, ROUNDING * (2 * np.log(2 / RARE) * length / 3) ** 0.5) * unit_roundoff(dtype)


def reference_type(length, dtype):
    """The type of what sums of `length` products are compared with: of short ones in float64 one with more bits."""
    return np.longdouble if length <= SHORT and dtype == "float64" else np.float64


def whole_bits(length, dtype):
    """The most bits of whole numbers of which `length` products and all their sums are exact in a dtype, at most 7.

    So many suit the operands of every precision; one more is their sign. Raises LadderError for sums that are too long.
    """
    bits = min(7, (int(np.finfo(dtype).nmant) + 1 - int(np.ceil(np.log2(max(length, 1))))) // 2)
    if bits < 1:
        raise LadderError(f"Sums of {length} products of whole numbers aren't exact in {np.dtype(dtype)}.")
    return bits


def whole_numbers(generator, array, bits):
    """Fill an array with multiples of 2**-bits in [-1, 1], drawn by a NumPy generator."""
    array[...] = generator.integers(-(2**bits), 2**bits, array.shape, np.int16, endpoint=True)
    array *= 2.0**-bits


def poison(outputs):
    """Fill every output array with NaN (whole numbers: their least value), so that an unwritten element shows."""
    for array in outputs.values():
        array[...] = np.nan if array.dtype.kind == "f" else np.iinfo(array.dtype).min


def compare(name, found, expected, bound):
    """The Check of `found` against the float64 array `expected`, elementwise within `bound`.

    Scaled so that the bound is 1: `error` is the largest |found - expected| / bound. A shape that differs, a NaN or an
    infinity, also in what is expected, gives an infinite error. Elements whose bound is 0 must match exactly.
    """
    found, expected, bound = np.asarray(found), np.asarray(expected), np.asarray(bound, dtype=np.float64)
    if found.shape != expected.shape or not all(np.isfinite(each).all() for each in (found, expected, bound)):
        return Check(name, float("inf"), 1.0)
    difference = np.abs(found.astype(np.float64) - expected)
    excess = np.divide(difference, bound, out=np.where(difference > 0, np.inf, 0.0), where=bound > 0)
    return Check(name, float(excess.max(initial=0.0)), 1.0)


def require_finite(outputs, expected_kinds):
    """Refuse outputs of another shape or dtype than `expected_kinds` says, or with a NaN or infinity left in them."""
    for name, (shape, dtype) in expected_kinds.items():
        array = np.asarray(outputs[name])
        if array.shape != tuple(shape) or array.dtype != np.dtype(dtype):
            raise LadderError(
                f"The result {name!r} is {array.dtype} {array.shape} where {np.dtype(dtype)} {tuple(shape)} is due."
            )
        bad = array.size - int(np.isfinite(array).sum())
        if bad:
            raise LadderError(
                f"{bad} of the {array.size} elements of the result {name!r} are NaN or infinite: "
                "the variant left them unwritten or computed nonsense."
            )


def require(checks, where):
    """Raise LadderError naming the first failed check."""
    for check in checks:
        if check.error == np.inf:
            raise LadderError(
                f"The result is wrong ({where}): {check.name!r} isn't exact where it must be, isn't finite, "
                "or has another shape."
            )
        if not check.passed:
            raise LadderError(
                f"The result is wrong ({where}): the error of {check.name!r} is {check.error:.3g} "
                f"where at most {check.bound:.3g} is allowed."
            )
