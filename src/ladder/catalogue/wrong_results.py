"""Wrong results that every sensible bound refuses: a workload that accepts one of them lets errors pass.

A bound is compared with the values themselves, because a result of zeros, or one wrong by a factor of 2, must be
refused at any precision. A correct output may differ from the exact one by as much as its own size if it is only
rounding noise beside the inputs, such as a residual, or a whole number, such as a number of iterations. For these the
error of the wrong result is larger.
"""

import math
from collections.abc import Iterable, Mapping

import numpy as np

# An output whose magnitude, relative to that of the inputs, is at most this counts as rounding noise.
MAX_NOISE = 1e-6
# What to do about a workload that accepts a wrong result.
ADVICE = "Derive the bound from the arithmetic, as `product_factor` of src/ladder/harness/validation.py does"

# What `check` does wrong, as the predicate of a message.
ACCEPTS_WRONG_OUTPUTS = (
    "accepts the outputs of a correct run, and also the same outputs doubled, negated and reduced by their largest "
    f"magnitude, so that wrong results would pass. {ADVICE}"
)


def largest_magnitude(inputs: Mapping[str, np.ndarray]) -> float:
    """The largest absolute value of the floating-point inputs; 1 if all are 0 or there are none."""
    float_arrays = [array for array in inputs.values() if array.dtype.kind == "f" and array.size]
    return max((float(np.abs(array).max()) for array in float_arrays), default=0.0) or 1.0


def error_to_refuse(exact: np.ndarray, dtype: np.dtype, magnitude: float) -> tuple[np.ndarray | float, str]:
    """The absolute error of a wrong result that a bound must refuse, and a description of that result.

    `exact` has the exact values of an output of this dtype, in float64; `magnitude` is that of the inputs.
    """
    largest = float(np.abs(exact).max(initial=0.0))
    if dtype.kind in "iu":
        error = 3 * largest + 1
        return error, f"a result that is off by {error:.3g} in every element"
    if largest <= MAX_NOISE * magnitude:
        return magnitude, f"a result that is off by {magnitude:.3g} in every element"
    return np.abs(exact), "a result that is wrong by a factor of 2, and one of zeros"


def constant_results(outputs: Mapping[str, tuple], magnitude: float) -> Iterable[dict[str, np.ndarray]]:
    """Two results, {output: array}, of which at most one can be correct: zeros, and the largest value of the inputs."""
    yield {name: np.zeros(shape, dtype) for name, (shape, dtype) in outputs.items()}
    arrays = {name: np.zeros(shape, dtype) for name, (shape, dtype) in outputs.items()}
    for array in arrays.values():
        array[...] = magnitude if array.dtype.kind == "f" else min(math.ceil(magnitude), np.iinfo(array.dtype).max)
    yield arrays


def corrupt(outputs: Mapping[str, np.ndarray]) -> None:
    """Turn correct outputs into wrong ones, in place: double and negate them, and subtract the largest magnitude."""
    for array in outputs.values():
        if array.size:
            with np.errstate(over="ignore"):
                largest = max(np.abs(array).max(), 1) if array.dtype.kind in "iu" else np.abs(array).max() or 1
                array *= array.dtype.type(2)
                np.negative(array, out=array)
                array -= array.dtype.type(largest)
