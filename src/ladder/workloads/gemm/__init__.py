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

import itertools
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
    "cuda_skinny": "a short side in registers and shared memory, the long operand read once",
    "cuda_packed": "packed operands copied by the TMA, persistent blocks, the last tiles split along k (float32)",
    "cuda_mma": "tensor cores, with several tiles in flight",
    "cuda_tma": "tensor cores, tiles copied by the TMA, persistent blocks, the last tiles split along k (float64)",
    "cuda_wgmma": "products of warpgroups in TF32, tiles multicast to a cluster's blocks (float32)",
    "cublas": "cuBLAS, with its own choice of kernels",
    "cublas_mixed": "cuBLAS on operands in half precision, or split into two TF32 parts",
    "cublas_lt": "peer: cuBLASLt, the fastest of ten algorithms of its heuristic",
    "c_openmp": "peer: the loops of `openmp` in C, compiled by gcc",
    "pytorch": "peer: PyTorch on the CPU, MKL in its wheels for x86",
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
TILE_ELEMENTS, MAX_TILE_COLUMNS = 2**18, 2**12  # of a temporary array, which then fits in a cache
# The identity, for products of the values themselves; bounds need products of f(values), f = np.abs or np.square.
VALUE = np.positive
MIN_TERMS = 9  # for sums of fewer terms, `random_sum_factor` bounds the error of one sum, but not of many added up


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
    """The first columns of `shape[0]` images, scaled to [0, 1], starting at a different image each round."""
    rows, columns = shape
    start = round * 17  # an arbitrary number, so that rounds have different images
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
    a_rows, addend = a[rows].astype(np.float64), np.float64(0) if c is None else c[rows].astype(np.float64)
    exact_type = reference_type(k, sizes["dtype"])
    expected = np.einsum("ik,kj->ij", a_rows, b, dtype=exact_type) + addend
    signs = None if is_full else np.random.default_rng(sizes["seed"]).choice([-1.0, 1.0], m + n)
    computed = {} if is_full else project_result(out, signs)
    if has_integer_inputs(sizes, round):
        checks = [compare("product, whole numbers", out[rows], expected, 0.0, rows)]
        if not is_full:  # elements that aren't whole numbers are detected directly, other errors by exact sums
            checks.append(compare_with_integers(out, integer_bits(k + 1, sizes["dtype"])))
            projected, _ = sums(a, b, c, signs, None, [VALUE])
            for name in computed:
                check_name = f"{name}s projected, whole numbers"
                checks.append(compare(check_name, computed[name], projected[VALUE][name], 0.0, projected=name))
        return checks, None
    projected, row_products = sums(a, b, c, signs, a_rows, [VALUE, np.abs, np.square])
    # k roundings of the products and one of the addend.
    bound = product_factor(k + 1, precision) * (row_products[np.abs] + np.abs(addend))
    checks = [compare("product", out[rows], expected, bound, rows)]
    if precision != "tf32x3":
        random_sign_factor = random_sum_factor(k + 1, precision) + random_sum_factor(k + 1, exact_type)
        bound = random_sign_factor * np.sqrt(row_products[np.square] + np.square(addend))
        checks.append(compare("product, random signs", out[rows], expected, bound, rows))
    counts = {"row": n, "column": m}
    for name in computed:
        projected_by_function = {f: projected[f][name] for f in projected}
        checks += projections(name, computed[name], projected_by_function, k, counts[name], precision)
    return checks, None


def compare_with_integers(out, bits):
    """The Check that all elements are multiples of 4**-bits: that of the first block of rows to fail, else the last."""
    count = max(1, TILE_ELEMENTS // out.shape[1])  # rows of a block
    for start in range(0, len(out), count):
        scaled = out[start : start + count].astype(np.float64) * 4.0**bits
        check = compare("whole numbers", scaled, np.rint(scaled), 0.0, range(start, start + len(scaled)))
        if not check.passed:
            break
    return check


def products(matrix, right_factors, left_factors):
    """({f: f(matrix) @ right_factors[f]}, {f: left_factors[f] @ f(matrix)}) in float64, in one pass over the matrix."""
    if not matrix.flags.c_contiguous:
        by_left, by_right = products(matrix.T, transposed(left_factors), transposed(right_factors))
        return transposed(by_right), transposed(by_left)
    rows, columns = matrix.shape
    by_right = {f: np.zeros((rows, right_factors[f].shape[1])) for f in right_factors}
    by_left = {f: np.zeros((len(left_factors[f]), columns)) for f in left_factors}
    width = min(columns, MAX_TILE_COLUMNS)
    # Without these buffers, the pages of new arrays would take longer than the sums.
    buffers = np.empty((2, TILE_ELEMENTS // width * width))
    for top, left in itertools.product(range(0, rows, TILE_ELEMENTS // width), range(0, columns, width)):
        part = matrix[top : top + TILE_ELEMENTS // width, left : left + width]
        tile, mapped_tile = (buffer[: part.size].reshape(part.shape) for buffer in buffers)  # mapped_tile: f(tile)
        tile[...] = part
        tile_rows, tile_columns = slice(top, top + len(part)), slice(left, left + part.shape[1])
        for f in {**right_factors, **left_factors}:
            f(tile, out=mapped_tile)
            if f in right_factors:
                by_right[f][tile_rows] += mapped_tile @ right_factors[f][tile_columns]
            if f in left_factors:
                by_left[f][:, tile_columns] += left_factors[f][:, tile_rows] @ mapped_tile
    return by_right, by_left


def transposed(arrays):
    """The transposes of a dict's arrays."""
    return {key: array.T for key, array in arrays.items()}


def sampled_rows(m, seed):
    """Sorted row numbers: the first, the last, and random ones."""
    random_rows = np.random.default_rng(seed).integers(0, m, SAMPLED_ROWS - 2)
    return np.unique([0, m - 1, *random_rows])


def project_result(out, signs):
    """{"row": out x, "column": out^T y}, where `signs` are y and then x."""
    m = len(out)
    by_right, by_left = products(out, {VALUE: signs[m:, None]}, {VALUE: signs[None, :m]})
    return {"row": by_right[VALUE][:, 0], "column": by_left[VALUE][0]}


def sums(a, b, c, signs, a_rows, functions):
    """({f: {"row": f(A) (f(B) x) + f(C) x, "column": f(B)^T (f(A)^T y) + f(C)^T y}}, {f: f(a_rows) f(B)}).

    For VALUE, y and x are the `signs`; for the other functions, they are vectors of ones. Without signs the first dict
    is empty; the second has no VALUE, and is empty without `a_rows`.
    """
    m, left_factors = len(a), {f: f(a_rows) for f in functions if f is not VALUE and a_rows is not None}
    if signs is None:
        return {}, products(b, {}, left_factors)[1]
    vectors = {f: signs if f is VALUE else np.ones(len(signs)) for f in functions}
    x, y = {f: vectors[f][m:, None] for f in functions}, {f: vectors[f][None, :m] for f in functions}
    _, y_a = products(a, {}, y)
    b_x, left_products = products(
        b, x, {f: np.concatenate([y_a[f], left_factors[f]]) if f in left_factors else y_a[f] for f in functions}
    )
    a_b_x, _ = products(a, b_x, {})
    c_x, y_c = products(c, x, y) if c is not None else ({}, {})
    projected = {
        f: {"row": (a_b_x[f] + c_x.get(f, 0.0))[:, 0], "column": (left_products[f][:1] + y_c.get(f, 0.0))[0]}
        for f in functions
    }
    return projected, {f: left_products[f][1:] for f in left_factors}


def projections(name, computed, projected, k, n, precision):
    """The Checks of a projection: one for any data, and one for products of random signs.

    Bounds include NumPy's rounding. An element of the projection sums the `n` elements of a `row` or a `column` of out,
    as `name` says. `computed` is the projection of the result, `projected` is {f: the expected one}, see `sums`.
    """
    check_factor = rounding_factor(k + 1, np.float64) + 2 * rounding_factor(n, np.float64)
    bound = (product_factor(k + 1, precision) + check_factor) * projected[np.abs]
    checks = [compare(f"{name}s projected", computed, projected[VALUE], bound, projected=name)]
    if precision != "tf32x3":
        # Large errors of many short sums are as improbable as those of one longer sum.
        factor, check_factor = (random_sum_factor(max(k + 1, MIN_TERMS), dtype) for dtype in (precision, np.float64))
        factor += check_factor + 2 * random_sum_factor(max(n, MIN_TERMS), np.float64)
        bound = factor * np.sqrt(projected[np.square])
        checks.append(compare(f"{name}s projected, random signs", computed, projected[VALUE], bound, projected=name))
    return checks
