"""Wrong results that every sensible bound refuses: a workload that accepts one of them lets errors pass.

A bound is compared with the values themselves, because a result of zeros, or one wrong by a factor of 2, must be
refused at any precision. An output that is only rounding noise beside the inputs, such as a residual, and an output of
whole numbers, such as a number of iterations, may be wrong by its own size: they get a larger error.
"""

import math
from collections.abc import Iterable, Mapping

import numpy as np

# An output that is smaller than the inputs by this factor counts as rounding noise.
NOISE = 1e-6
# What to do about a workload that accepts a wrong result.
ADVICE = "Derive the bound from the arithmetic, as `product_factor` of src/ladder/harness/validation.py does"

ACCEPTED = (
    "accepts the outputs of a right run, and also the same outputs doubled, negated and reduced by their largest "
    f"magnitude, so that wrong results would pass. {ADVICE}"
)


def scale_of(inputs: Mapping[str, np.ndarray]) -> float:
    """The largest absolute value of the inputs of real numbers; 1 without one above 0."""
    reals = [array for array in inputs.values() if array.dtype.kind == "f" and array.size]
    return max((float(np.abs(array).max()) for array in reals), default=0.0) or 1.0


def error_of(exact: np.ndarray, kind: np.dtype, scale: float) -> tuple[np.ndarray | float, str]:
    """The absolute error of a wrong result in place of `exact`, and that result in words.

    `exact` are the float64 values of an output of the dtype `kind`, `scale` is that of the inputs.
    """
    largest = float(np.abs(exact).max(initial=0.0))
    if kind.kind in "iu":
        error = 3 * largest + 1
        return error, f"a result that is off by {error:.3g} in every element"
    if largest <= NOISE * scale:
        return scale, f"a result that is off by {scale:.3g} in every element"
    return np.abs(exact), "a result that is wrong by a factor of 2, and one of zeros"


def constants_of(outputs: Mapping[str, tuple], scale: float) -> Iterable[dict[str, np.ndarray]]:
    """Two results, {output: array}, of which at most one can be right: zeros, and the largest value of the inputs."""
    yield {name: np.zeros(*kind) for name, kind in outputs.items()}
    arrays = {name: np.zeros(*kind) for name, kind in outputs.items()}
    for array in arrays.values():
        array[...] = scale if array.dtype.kind == "f" else min(math.ceil(scale), np.iinfo(array.dtype).max)
    yield arrays


def spoil(outputs: Mapping[str, np.ndarray]) -> None:
    """Turn right outputs into wrong ones, in place: double and negate them, and subtract the largest magnitude."""
    for array in outputs.values():
        if array.size:
            with np.errstate(over="ignore"):
                largest = max(np.abs(array).max(), 1) if array.dtype.kind in "iu" else np.abs(array).max() or 1
                array *= array.dtype.type(2)
                np.negative(array, out=array)
                array -= array.dtype.type(largest)
