"""Elementary kernels of a solve by steepest descent, timed separately as in an earlier study.

| kernel | computes | loads | stores |
| --- | --- | --- | --- |
| init | A[i, j] = i * n + j, its index, as in the earlier study | | n * n |
| hash | A and b from their hashed indices, see `hashed_elements` | | n * n + n |
| product | A[i, j] x[j]: the first half of a matrix-vector product | n * n + n | n * n |
| reduction | the sum of each row of a matrix: the second half | n * n | n |
| transpose | a column as a row: n elements | n | n |
| scale | alpha x | n | n |
| vecdif | x - y, as in b - A x | 2 n | n |
| vecsum | x + y, as in x + alpha p with alpha p by `scale` | 2 n | n |
| gemv | A x: `product` and `reduction` fused, without an intermediate array | n * n + n | n |
| dot | x.y in one kernel | 2 n | 1 |

Loads and stores are the minimal traffic in elements; kernels on large arrays are memory-bound. Inputs are uniform in
[-1, 1) from the seed; in large arrays the numbers repeat (`ladder.devices.chunked`).

Shapes: matrix (n, n), x and y (n,); out (n, n) of `init`, `hash` and `product`, (1,) of `dot`, otherwise (n,); b, the
other output of `hash`, (n,); all of one dtype, float32 or float64. key, the input of `hash`, is uint32 (1,).
"""

from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any

import numpy as np

from ladder.devices import chunked
from ladder.harness.contract import Arrays, Kinds, Round, Sizes
from ladder.harness.validation import compare, random_sum_factor, unit_roundoff
from ladder.workloads.gemv import sums

RUNGS = {
    "cuda_version1": "a block for each row, as wide as the matrix",
    "cuda_version2": "a linear index, blocks of any size; reductions in passes, several elements per thread",
    "cublas": "cuBLAS",
}
SIZES = {
    "kernel": ("init", "product", "reduction", "transpose", "scale", "vecdif", "vecsum", "gemv", "dot", "hash"),
    "n": int,
    "dtype": ("float32", "float64"),
    "seed": 1,
}
ARRAYS = ("key", "matrix", "x", "y", "out", "b")
INPUTS = {
    "init": (),
    "product": ("matrix", "x"),
    "reduction": ("matrix",),
    "transpose": ("x",),
    "scale": ("x",),
    "vecdif": ("x", "y"),
    "vecsum": ("x", "y"),
    "gemv": ("matrix", "x"),
    "dot": ("x", "y"),
    "hash": ("key",),
}
OPERATIONS = {"product": np.multiply, "transpose": np.positive, "scale": np.multiply}
OPERATIONS |= {"vecdif": np.subtract, "vecsum": np.add}
ALPHA = 0.7
CHUNK_ELEMENTS = 2**18  # elements of a matrix that are checked at once, few enough for a cache


def arrays(sizes: Sizes) -> tuple[Kinds, Kinds]:
    """Inputs and outputs as {name: (shape, dtype)}."""
    kernel, n, dtype = sizes["kernel"], sizes["n"], sizes["dtype"]
    vector, matrix = ((n,), dtype), ((n, n), dtype)
    specs = {"key": ((1,), "uint32"), "matrix": matrix, "x": vector, "y": vector}
    outputs = {"out": matrix if kernel in ("init", "hash", "product") else ((1,), dtype) if kernel == "dot" else vector}
    if kernel == "hash":
        outputs["b"] = vector
    return {name: specs[name] for name in INPUTS[kernel]}, outputs


def fill(inputs: Arrays, sizes: Sizes, round: int, data: Any) -> Iterable[str]:
    """Write the inputs of a round in place; returns their names."""
    generator = np.random.default_rng([sizes["seed"], round])

    def draw(part):
        generator.random(out=part, dtype=part.dtype)
        part *= 2
        part -= 1

    for name, array in inputs.items():
        if name == "key":
            array[0] = generator.integers(2**32)
        else:
            chunked.fill(array, draw)
    return list(inputs)


def cost(sizes: Sizes) -> SimpleNamespace:
    """FLOPs, and bytes loaded and stored."""
    n = sizes["n"]
    flops, loads, stores = {
        "init": (0, 0, n * n),
        "product": (n * n, n * n + n, n * n),
        "reduction": (n * n, n * n, n),
        "transpose": (0, n, n),
        "scale": (n, n, n),
        "vecdif": (n, 2 * n, n),
        "vecsum": (n, 2 * n, n),
        "gemv": (2 * n * n, n * n + n, n),
        "dot": (2 * n, 2 * n, 1),
        "hash": (0, 0, n * n + n),
    }[sizes["kernel"]]
    size = np.dtype(sizes["dtype"]).itemsize
    return SimpleNamespace(flops=flops, bytes=(loads + stores) * size, precision=sizes["dtype"])


def hashed_elements(first, count, key):
    """The elements from `first` on that `hash` writes, float64 (count,): A by rows, then b.

    Element i is 24 bits of a hash of i ^ key (the finalizer of MurmurHash3, Appleby, 2011), scaled to [-1, 1). It is
    exact in float32, and hardly correlated with other elements.
    """
    bits = np.arange(first, first + count).astype(np.uint32) ^ key
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35)):
        bits ^= bits >> shift
        bits *= np.uint32(factor)
    bits ^= bits >> 16
    return (bits >> 8) * 2.0**-23 - 1


def check(
    sizes: Sizes, inputs: Arrays, outputs: Arrays, round: int, data: Any, reference: Any, precision: str
) -> Round:
    """Compare every element with the same arithmetic in float64; the reference sums don't use BLAS."""
    kernel, out = sizes["kernel"], outputs["out"]
    if kernel == "hash":
        return compare_hash(inputs["key"][0], out, outputs["b"]), None
    if kernel in ("reduction", "gemv", "dot"):
        return [compare_sums(kernel, out, precision, **inputs)], None
    if kernel == "init":
        n = len(out)

        def compare_indices(rows):
            index = np.arange(rows.start * n, rows.start * n + out[rows].size, dtype=np.float64).reshape(-1, n)
            return compare(kernel, out[rows], index, unit_roundoff(precision) * index, row_numbers(rows))

        return [worst_check(compare_indices, n)], None
    if kernel == "product":
        matrix, x = inputs["matrix"], inputs["x"]

        def compare_products(rows):
            return compare_elements(kernel, out[rows], precision, matrix[rows], x, rows=row_numbers(rows))

        return [worst_check(compare_products, len(x))], None
    return [compare_elements(kernel, out, precision, *inputs.values())], None


def row_numbers(rows):
    """The numbers of the rows in a slice."""
    return range(rows.start, rows.stop)


def worst_check(compare_rows, n):
    """The Check with the largest error of those that `compare_rows(rows)` returns for slices of n rows."""
    step = max(1, CHUNK_ELEMENTS // n)
    checks = chunked.map_on_threads(compare_rows, [slice(start, min(start + step, n)) for start in range(0, n, step)])
    return max(checks, key=lambda check: check.error)


def compare_hash(key, a, b):
    """The Checks of the arrays that `hash` writes."""
    n = len(b)

    def compare_rows(rows):
        expected = hashed_elements(rows.start * n, a[rows].size, key).reshape(-1, n)
        return compare("A", a[rows], expected, 0, row_numbers(rows))

    return [worst_check(compare_rows, n), compare("b", b, hashed_elements(n * n, n, key), 0)]


def compare_elements(kernel, out, precision, *operands, rows=None):
    """The Check of a kernel whose results are rounded at most once; `rows` are the numbers of the compared rows."""
    if kernel == "scale":
        operands = *operands, np.array(ALPHA, out.dtype)
    expected = OPERATIONS[kernel](*(operand.astype(np.float64) for operand in operands))
    return compare(kernel, out, expected, unit_roundoff(precision) * np.abs(expected), rows)


def compare_sums(kernel, out, precision, x=None, y=None, matrix=None):
    """The Check of sums of n products; a reduction multiplies by 1."""
    if kernel == "dot":
        matrix, x = x.reshape(1, -1), y
    n = matrix.shape[1]
    expected, scale = sums(matrix, np.ones(n) if x is None else x)
    factor = random_sum_factor(n, precision) + random_sum_factor(n, np.float64)
    return compare(kernel, out, expected, factor * scale)
