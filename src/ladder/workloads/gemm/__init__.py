"""GEMM, the three matrix products of a fully connected layer's forward and backward pass, row-major.

| form | product | A | B | in the network |
| --- | --- | --- | --- | --- |
| nn | out = A B | M x K | K x N | forward: activations times weights |
| tn | out = A^T B | K x M | K x N | weight gradient: activations^T times delta |
| nt | out = A B^T + C | M x K | N x K | back-propagated delta, with an addend C of M x N |

Inputs are drawn uniformly from [-1, 1) by the seed. If `source` is a data set, A is cut from its images: a row per
image, a column per pixel, scaled to [0, 1]. In the second of the two checked rounds, random inputs are whole numbers,
scaled by a power of two; the result is then exact in every order of summation, and must be equal.

A variant's module may have a function `product(form)`, which returns `multiply(a, b, out, c=None)`; other workloads
use it for their products. Arrays are C-contiguous and of one dtype, float64 or float32.
"""

from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any

import numpy as np

from ladder.harness.contract import Arrays, Kinds, Round, Sizes
from ladder.harness.validation import (
    compare,
    fill_with_integers,
    integer_bits,
    product_factor,
    random_sum_factor,
    reference_type,
    rounding_factor,
)

RUNGS = {
    "openmp": "three nested loops, the outermost shared among OpenMP threads; one thread is the serial program",
    "interchanged": "loop order i-k-j, so that the innermost loop is vectorised",
    "tiled": "blocking for every cache, packed panels, register tiles",
    "blas": "SciPy's BLAS, OpenBLAS in its wheels",
    "cuda_naive": "a thread per element of the result, operands in global memory",
    "cuda_shared": "square tiles of the operands in shared memory",
    "cuda_columns": "a column of a tile per thread, one operand in shared memory and one in registers",
    "cuda_tiled": "tiles in shared memory, smaller tiles in registers",
    "cuda_packed": "packed operands copied by the TMA, persistent blocks, the last tiles split along k (float32)",
    "cuda_mma": "tensor cores, with several tiles in flight",
    "cuda_tma": "tensor cores, tiles copied by the TMA, persistent blocks, the last tiles split along k (float64)",
    "cuda_wgmma": "products of warpgroups in TF32, tiles multicast to a cluster's blocks (float32)",
    "cublas": "cuBLAS, with its own choice of kernels",
    "cublas_mixed": "cuBLAS on operands in half precision, or split into two TF32 parts",
    "c_openmp": "peer: the loops of `openmp` in C, compiled by gcc",
}
SIZES = {
    "form": ("nn", "tn", "nt"),
    "m": int,
    "n": int,
    "k": int,
    "dtype": ("float64", "float32"),
    "source": ("random", "mnist", "digits"),
    "seed": 1,
}
CEILING = "flops"
ARRAYS = ("a", "b", "c", "out")
# Cases in which errors are injected, to see what the checks detect.
SENSITIVITY = [
    ("blas", {"threads": 1}, {"form": "nt", "m": 37, "n": 29, "k": 17}),
    ("blas", {"threads": 1}, {"form": "nn", "m": 37, "n": 29, "k": 64}),
    ("blas", {"threads": 1}, {"form": "nn", "m": 257, "n": 259, "k": 261}),
]
# Up to this number of FMAs, m n k, every element is recomputed; beyond, sampled rows and projections of all elements.
MAX_FULL_CHECK_FMAS = 2**24
SAMPLED_ROWS = 8
STRIP_ELEMENTS = 2**18  # of temporary arrays, which fit the caches
MIN_TERMS = 9  # below it `random_sum_factor` bounds a single sum, but not a sum of many such sums


def refuse(sizes: Sizes) -> str | None:
    """The reason why these sizes are invalid, as a sentence, or None."""
    rows, columns = shapes(sizes)["a"]
    if sizes["source"] != "random" and columns > 784:
        return f"An image has 784 pixels, too few for a matrix of {rows} x {columns}: lower k (m for tn)."
    return None


def shapes(sizes):
    """The shape of every array of a product."""
    m, n, k = sizes["m"], sizes["n"], sizes["k"]
    by_name = {
        "a": (k, m) if sizes["form"] == "tn" else (m, k),
        "b": (n, k) if sizes["form"] == "nt" else (k, n),
        "out": (m, n),
    }
    return by_name | ({"c": (m, n)} if sizes["form"] == "nt" else {})


def data_set(sizes: Sizes) -> str | None:
    """The data set that the inputs are cut from, or None."""
    return None if sizes["source"] == "random" else sizes["source"]


def has_integer_inputs(sizes, round):
    """Whether a round's inputs are whole numbers."""
    return round == 1 and sizes["source"] == "random"


def arrays(sizes: Sizes) -> tuple[Kinds, Kinds]:
    """Inputs and outputs as {name: (shape, dtype)}."""
    kinds = {name: (shape, sizes["dtype"]) for name, shape in shapes(sizes).items()}
    return {name: kind for name, kind in kinds.items() if name != "out"}, {"out": kinds["out"]}


def fill(inputs: Arrays, sizes: Sizes, round: int, data: Any) -> Iterable[str]:
    """Write all inputs of a round in place, with other values in each round. Return their names."""
    generator = np.random.default_rng([sizes["seed"], round])
    for name in sorted(inputs):
        array = inputs[name]
        if name == "a" and data is not None:
            array[...] = crop(data.train_images, array.shape, round)
        elif has_integer_inputs(sizes, round):
            fill_with_integers(generator, array, integer_bits(sizes["k"] + 1, sizes["dtype"]))
        else:
            generator.random(dtype=array.dtype, out=array)
            array *= 2
            array -= 1
    return list(inputs)


def crop(images, shape, round):
    """The first columns of `shape[0]` images, scaled to [0, 1], starting at a different one each round."""
    rows, columns = shape
    start = round * 17
    index = np.arange(start, start + rows) % len(images)
    return images.reshape(len(images), -1)[index, :columns] / 255.0


def cost(sizes: Sizes) -> SimpleNamespace:
    """FLOPs of the product, two per FMA, and the minimum number of bytes moved: each operand once."""
    m, n, k = sizes["m"], sizes["n"], sizes["k"]
    size = np.dtype(sizes["dtype"]).itemsize
    addend = sizes["form"] == "nt"
    elements = sum(rows * columns for rows, columns in shapes(sizes).values())
    return SimpleNamespace(
        flops=2 * m * n * k + (m * n if addend else 0), bytes=elements * size, precision=sizes["dtype"]
    )


def check(
    sizes: Sizes, inputs: Arrays, outputs: Arrays, round: int, data: Any, reference: Any, precision: str
) -> Round:
    """Compare with plain sums in float64 or better: every element, or sampled rows and projections of all elements.

    The projections are Freivalds' (1977): for a vector x of random signs, out x is compared with A (B x), and out^T x
    with B^T (A^T x), so that every element of a large result takes part in a comparison. NumPy computes them, and the
    bound includes its rounding.
    """
    a = inputs["a"].T if sizes["form"] == "tn" else inputs["a"]
    b = inputs["b"].T if sizes["form"] == "nt" else inputs["b"]
    c, out = inputs.get("c"), outputs["out"]
    m, n, k = sizes["m"], sizes["n"], sizes["k"]
    is_full = m * n * k <= MAX_FULL_CHECK_FMAS
    rows = np.arange(m) if is_full else sampled_rows(m, sizes["seed"])
    a_rows, addend = a[rows].astype(np.float64), 0 if c is None else c[rows].astype(np.float64)
    exact_type = reference_type(k, sizes["dtype"])
    expected = np.einsum("ik,kj->ij", a_rows, b, dtype=exact_type) + addend
    signs = np.random.default_rng(sizes["seed"]).choice([-1.0, 1.0], m + n)
    row_operands, column_operands = (a, b, c, out), (b.T, a.T, c if c is None else c.T, out.T)
    directions = {} if is_full else {"row": (*row_operands, signs[:n]), "column": (*column_operands, signs[n:])}
    if has_integer_inputs(sizes, round):
        checks = [compare("product, whole numbers", out[rows], expected, 0.0, rows)]
        if not is_full:  # elements that aren't whole numbers are detected directly, other errors by exact sums
            checks.append(compare_with_integers(out, integer_bits(k + 1, sizes["dtype"])))
        for name, operands in directions.items():
            computed, projected = projection(*operands)
            checks.append(compare(f"{name}s projected, whole numbers", computed, projected, 0.0, projected=name))
        return checks, None
    # k roundings of the products and one of the addend.
    factor = product_factor(k + 1, precision)
    scale = multiply(b.T, np.abs(a_rows).T, np.abs).T + np.abs(addend)
    checks = [compare("product", out[rows], expected, factor * scale, rows)]
    if precision != "tf32x3":
        squares = multiply(b.T, np.square(a_rows).T, np.square).T + np.square(addend)
        random_sign_factor = random_sum_factor(k + 1, precision) + random_sum_factor(k + 1, exact_type)
        checks.append(
            compare("product, random signs", out[rows], expected, random_sign_factor * np.sqrt(squares), rows)
        )
    for name, operands in directions.items():
        checks += projections(name, *operands, precision)
    return checks, None


def compare_with_integers(out, bits):
    """The Check that all elements are multiples of 4**-bits: that of the first strip of rows where some aren't."""
    for rows in strips(out):
        scaled = out[rows].astype(np.float64) * 4.0**bits
        check = compare("whole numbers", scaled, np.rint(scaled), 0.0, range(rows.start, rows.stop))
        if not check.passed:
            break
    return check


def strips(matrix):
    """Slices of a matrix's rows, of about STRIP_ELEMENTS each, so that temporary arrays stay in the caches."""
    rows, columns = matrix.shape
    count = max(1, STRIP_ELEMENTS // columns)
    return [slice(start, min(start + count, rows)) for start in range(0, rows, count)]


def multiply(matrix, other, function=lambda array: array):
    """The product function(matrix) @ other in float64, by strips of the rows in which the matrix lies in memory."""
    if matrix.flags.c_contiguous:
        parts = [function(matrix[rows].astype(np.float64, copy=False)) @ other for rows in strips(matrix)]
        return np.concatenate(parts)
    base = matrix.T
    return sum(function(base[rows].astype(np.float64, copy=False)).T @ other[rows] for rows in strips(base))


def sampled_rows(m, seed):
    """Sorted row numbers: the first, the last, and random ones."""
    random_rows = np.random.default_rng(seed).integers(0, m, SAMPLED_ROWS - 2)
    return np.unique([0, m - 1, *random_rows])


def projection(a, b, c, out, signs):
    """out x and A (B x) + C x, where x are the signs."""
    return multiply(out, signs), multiply(a, multiply(b, signs)) + (0 if c is None else multiply(c, signs))


def projections(name, a, b, c, out, signs, precision):
    """The Checks of a projection: one for any data, and one for products of random signs.

    Bounds include NumPy's rounding. `name` is what an element of the projection sums: a `row` or a `column`.
    """
    computed, expected = projection(a, b, c, out, signs)
    ones = np.ones(len(signs))
    scale, squares = (multiply(a, multiply(b, ones, function), function) for function in (np.abs, np.square))
    if c is not None:
        scale += multiply(c, ones, np.abs)
        squares += multiply(c, ones, np.square)
    k, n = b.shape
    check_factor = rounding_factor(k + 1, np.float64) + 2 * rounding_factor(n, np.float64)
    bound = (product_factor(k + 1, precision) + check_factor) * scale
    checks = [compare(f"{name}s projected", computed, expected, bound, projected=name)]
    if precision != "tf32x3":
        # Large errors of many short sums are as improbable as those of one longer sum.
        factor, check_factor = (random_sum_factor(max(k + 1, MIN_TERMS), dtype) for dtype in (precision, np.float64))
        factor += check_factor + 2 * random_sum_factor(max(n, MIN_TERMS), np.float64)
        bound = factor * np.sqrt(squares)
        checks.append(compare(f"{name}s projected, random signs", computed, expected, bound, projected=name))
    return checks
