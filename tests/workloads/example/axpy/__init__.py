"""AXPY: out = a x + y of two vectors, a workload that the project doesn't have.

Shapes: x, y and out (elements,), all of one dtype.
"""

from types import SimpleNamespace

import numpy as np

from ladder.harness.validation import product_factor

RUNGS = {
    "vectorised": "two passes of NumPy",
    "parallel": "one loop of Numba, shared among OpenMP threads",
}
SIZES = {"elements": int, "dtype": ("float64", "float32"), "seed": 1}
FACTOR = 2.5  # a


def refuse(sizes):
    """Why these sizes are invalid, or None."""
    return f"elements={sizes['elements']} of axpy is too many." if sizes["elements"] > 2**30 else None


def arrays(sizes):
    """Inputs and outputs as {name: (shape, dtype)}."""
    vector = ((sizes["elements"],), sizes["dtype"])
    return {"x": vector, "y": vector}, {"out": vector}


def fill(inputs, sizes, round, data):
    """Write the inputs of a round in place; returns their names."""
    generator = np.random.default_rng([sizes["seed"], round])
    for array in inputs.values():
        generator.random(out=array, dtype=array.dtype)
    return list(inputs)


def cost(sizes):
    """FLOPs, two an element, and bytes: every array once."""
    itemsize = np.dtype(sizes["dtype"]).itemsize
    return SimpleNamespace(
        flops=2 * sizes["elements"], bytes=3 * sizes["elements"] * itemsize, precision=sizes["dtype"]
    )


def expected(sizes, inputs, precision):
    """The output in float64, and the bound of its error."""
    exact = FACTOR * inputs["x"].astype(np.float64) + inputs["y"]
    return {"out": (exact, product_factor(2, precision) * exact)}
