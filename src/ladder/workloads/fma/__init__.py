"""FMA: the recurrence x <- a x + b from many start values, one fused multiply-add per step in registers; a ceiling.

With a = 1 - 1/length and b = 1/length, both rounded to the dtype, x moves from its start in [0, 1) more than half of
the way to 1 in `length` steps: every step changes the result, and none can be skipped or folded. It is compute-bound,
without tensor cores: a value is loaded and stored once per `length` steps.

Shapes: the start values x and the end values out (elements,).
"""

from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any

import numpy as np

from ladder.harness.contract import Arrays, Kinds, Round, Sizes
from ladder.harness.validation import compare, unit_roundoff

RUNGS = {
    "cuda": "several recurrences in the registers of each GPU thread",
}
CEILING = "multiply-adds"  # can raise the ceiling `flops`, which another workload sets
SIZES = {"elements": int, "length": int, "dtype": ("float64", "float32"), "seed": 1}


def arrays(sizes: Sizes) -> tuple[Kinds, Kinds]:
    """Inputs and outputs as {name: (shape, dtype)}."""
    array = ((sizes["elements"],), sizes["dtype"])
    return {"x": array}, {"out": array}


def fill(inputs: Arrays, sizes: Sizes, round: int, data: Any) -> Iterable[str]:
    """Write the start values of a round in place. Return the name of their array."""
    generator = np.random.default_rng([sizes["seed"], round])
    generator.random(out=inputs["x"], dtype=inputs["x"].dtype)
    return ["x"]


def cost(sizes: Sizes) -> SimpleNamespace:
    """FLOPs, two per step of an element, and bytes loaded and stored."""
    flops = 2 * sizes["elements"] * sizes["length"]
    bytes = 2 * np.dtype(sizes["dtype"]).itemsize * sizes["elements"]
    return SimpleNamespace(flops=flops, bytes=bytes, precision=sizes["dtype"])


def factors(sizes):
    """a and b of the recurrence in the case's dtype."""
    dtype = np.dtype(sizes["dtype"]).type
    return dtype(1 - 1 / sizes["length"]), dtype(1 / sizes["length"])


def check(
    sizes: Sizes, inputs: Arrays, outputs: Arrays, round: int, data: Any, reference: Any, precision: str
) -> Round:
    """Compare every end value with the recurrence's closed form in float64.

    A step rounds once, by at most the unit roundoff u times its result, and later steps shrink that error. The error is
    therefore at most length u times the largest value, which is the start or the end.
    """
    a, b = map(float, factors(sizes))
    start, length = inputs["x"].astype(np.float64), sizes["length"]
    fixed_point = b / (1 - a)  # 1 - a is exact
    expected = fixed_point + (start - fixed_point) * a**length
    factor = length * unit_roundoff(precision) + 8 * unit_roundoff("float64")  # the second for the closed form
    return [compare("ends", outputs["out"], expected, factor * np.maximum(start, expected))], None
