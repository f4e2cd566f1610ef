"""FMA: a recurrence x <- a x + b from many starts, each step one fused multiply-add in registers; a ceiling.

With a = 1 - 1/length and b = 1/length, both rounded to the dtype, x goes from its start in [0, 1) more than half of the
way towards 1: every step counts, and none can be skipped or folded. It is compute-bound, without tensor cores, since a
start is loaded and an end stored once per `length` steps.

Shapes: x and out (elements,).
"""

from types import SimpleNamespace

import numpy as np

from ladder.harness.validation import compare, unit_roundoff

RUNGS = {
    "cuda": "several recurrences in the registers of each GPU thread",
}
# The results that ceilings are taken from.
CEILING = "multiply-adds"
SIZES = {"elements": int, "length": int, "dtype": ("float64", "float32"), "seed": 1}


def arrays(sizes):
    """Inputs and outputs as {name: (shape, dtype)}."""
    kind = ((sizes["elements"],), sizes["dtype"])
    return {"x": kind}, {"out": kind}


def fill(inputs, sizes, round, data):
    """Write the starts of a round in place; their name."""
    generator = np.random.default_rng([sizes["seed"], round])
    generator.random(out=inputs["x"], dtype=inputs["x"].dtype)
    return ["x"]


def cost(sizes):
    """FLOPs, two per step, and bytes loaded and stored."""
    flops = 2 * sizes["elements"] * sizes["length"]
    bytes = 2 * np.dtype(sizes["dtype"]).itemsize * sizes["elements"]
    return SimpleNamespace(flops=flops, bytes=bytes, precision=sizes["dtype"])


def factors(sizes):
    """a and b of the recurrence in the case's dtype."""
    kind = np.dtype(sizes["dtype"]).type
    return kind(1 - 1 / sizes["length"]), kind(1 / sizes["length"])


def check(sizes, inputs, outputs, round, data, reference, precision):
    """Compare every end with the recurrence's closed form in float64.

    A step rounds once, by at most u times its result, and later steps shrink that error; so the error is at most length
    u times the largest value, which is the start or the end.
    """
    a, b = (float(factor) for factor in factors(sizes))
    start, length = inputs["x"].astype(np.float64), sizes["length"]
    fixed = b / (1 - a)  # 1 - a is exact
    expected = fixed + (start - fixed) * a**length
    steps = length * unit_roundoff(precision) + 8 * unit_roundoff("float64")
    return [compare("ends", outputs["out"], expected, steps * np.maximum(start, expected))], None
