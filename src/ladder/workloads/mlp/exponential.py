"""exp(x) that LLVM vectorises inside a Numba loop; libm's function would be called for each element.

As in most vector libraries (Cephes: https://netlib.org/cephes): x = n ln 2 + r with integer n and |r| <= ln 2 / 2,
where ln 2 is split in two parts so that r is exact to the last bit; exp(r) is its Taylor polynomial, truncated where
the remainder is below half a unit in the last place; and 2^n is written into the exponent's bits.
"""

import math

import numpy as np
from numba import types
from numba.extending import intrinsic, overload


def exponential(x):
    """exp(x) of a float64 or float32 within 1 unit in the last place, only inside Numba's functions.

    Arguments are clamped so that the result is a normal number: to [-708, 709] in float64, [-87, 88] in float32.
    """
    raise NotImplementedError("exponential works inside Numba's compiled functions only.")


@overload(exponential)
def implementation(x):
    if x == types.float64:
        real, integer, mantissa, bias, degree = np.float64, np.int64, 52, 1023, 13
        lowest, highest = real(-708), real(709)
        ln2_high, ln2_low = real(0.693147180369123816490), real(1.90821492927058770002e-10)
    else:
        real, integer, mantissa, bias, degree = np.float32, np.int32, 23, 127, 7
        lowest, highest = real(-87), real(88)
        ln2_high, ln2_low = real(0.693359375), real(-2.12194440e-4)
    coefficients = tuple(real(1 / math.factorial(power)) for power in range(degree, -1, -1))
    per_ln2, half, zero = real(1 / math.log(2)), real(0.5), real(0)

    def body(x):
        x = min(max(x, lowest), highest)
        n = np.floor(x * per_ln2 + half)
        r = (x - n * ln2_high) - n * ln2_low
        value = zero
        for coefficient in coefficients:
            value = value * r + coefficient
        return value * real_of_bits(integer((integer(n) + integer(bias)) << integer(mantissa)))

    return body


@intrinsic
def real_of_bits(context, bits):
    """The float64 (float32) with the bits of an int64 (int32)."""
    real = types.float64 if bits == types.int64 else types.float32

    def generate(context, builder, signature, arguments):
        return builder.bitcast(arguments[0], context.get_value_type(real))

    return real(bits), generate
