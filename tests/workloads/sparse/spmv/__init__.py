"""SpMV: out = A x for a sparse matrix in CSR, a workload that the project doesn't have.

Shapes: A has `rows` rows of `per_row` entries each, out of `columns`; `starts` (rows + 1,), `indices` and `entries`
(rows per_row,), x (columns,), out (rows,). docs/contracts.md says what each name of this module is for.
"""

from types import SimpleNamespace

import numpy as np

from ladder.harness.validation import product_factor

RUNGS = {
    "gathered": "two passes of NumPy",
    "by_row": "one loop of Numba over rows, shared among OpenMP threads",
}
SIZES = {"rows": int, "columns": int, "per_row": int, "dtype": ("float64", "float32"), "seed": 1}
ARRAYS = ("starts", "indices", "entries", "x", "out")


def refuse(sizes):
    """Why these sizes are invalid, or None."""
    if sizes["per_row"] > sizes["columns"]:
        return f"per_row={sizes['per_row']} of spmv exceeds columns={sizes['columns']}."
    return None


def arrays(sizes):
    """Inputs and outputs as {name: (shape, dtype)}."""
    count = sizes["rows"] * sizes["per_row"]
    inputs = {
        "starts": ((sizes["rows"] + 1,), "int64"),
        "indices": ((count,), "int64"),
        "entries": ((count,), sizes["dtype"]),
        "x": ((sizes["columns"],), sizes["dtype"]),
    }
    return inputs, {"out": ((sizes["rows"],), sizes["dtype"])}


def fill(inputs, sizes, round, data):
    """Write the inputs of a round in place; returns their names."""
    generator = np.random.default_rng([sizes["seed"], round])
    inputs["starts"][...] = np.arange(sizes["rows"] + 1) * sizes["per_row"]
    first = generator.integers(0, sizes["columns"], (sizes["rows"], 1))  # the others of a row follow it cyclically
    inputs["indices"][...] = ((first + np.arange(sizes["per_row"])) % sizes["columns"]).ravel()
    for name in ("entries", "x"):
        inputs[name][...] = generator.random(inputs[name].shape)
    return list(inputs)


def cost(sizes):
    """FLOPs, two an entry, and bytes: every array once."""
    inputs, outputs = arrays(sizes)
    array_bytes = [np.prod(shape) * np.dtype(dtype).itemsize for shape, dtype in (inputs | outputs).values()]
    flops = 2 * sizes["rows"] * sizes["per_row"]
    return SimpleNamespace(flops=flops, bytes=int(sum(array_bytes)), precision=sizes["dtype"])


def expected(sizes, inputs, precision):
    """The output in float64, and the bound of its error: no product is negative, so that their sum is |A| |x|."""
    products = inputs["entries"].astype(np.float64) * inputs["x"][inputs["indices"]]
    exact = products.reshape(sizes["rows"], sizes["per_row"]).sum(axis=1)
    return {"out": (exact, product_factor(sizes["per_row"], precision) * exact)}
