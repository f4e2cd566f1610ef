"""STREAM: the memory bandwidth of a loop over long arrays, after McCalpin's benchmark (1995); a ceiling.

| kernel | does | bytes per element |
| --- | --- | --- |
| read | total += a | 1 load |
| copy | out = a | 1 load, 1 store (and the write-allocate load, which isn't counted) |
| triad | out = a + 3 b | 2 loads, 1 store |

Inputs are drawn uniformly from [0, 1) by the seed; in large arrays the numbers repeat (`ladder.devices.chunked`).

Shapes: a, b and out (elements,); for `read`, out holds one partial sum per `BLOCK_ELEMENTS` elements.
"""

from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any

import numpy as np

from ladder.devices import chunked
from ladder.harness.contract import Arrays, Kinds, Round, Sizes
from ladder.harness.validation import compare, growing_sum_factor, product_factor

RUNGS = {
    "openmp": "loops in Numba on OpenMP threads",
    "cuda": "16-byte accesses on a GPU",
}
# The ceiling that the results set.
CEILING = "bandwidth"
SIZES = {"kernel": ("read", "copy", "triad"), "elements": int, "dtype": ("float64", "float32"), "seed": 1}
ARRAYS = ("a", "b", "out")
# Cases in which errors are injected, to see what the checks detect.
SENSITIVITY = [
    ("openmp", {"threads": 1}, {"kernel": "read", "elements": 131_075}),
    ("openmp", {"threads": 1}, {"kernel": "copy", "elements": 1_027}),
    ("openmp", {"threads": 1}, {"kernel": "triad", "elements": 1_027}),
]
BLOCK_ELEMENTS = 2**16  # elements of a partial sum
CHUNK_ELEMENTS = 2**18  # elements that are checked at once, few enough for a cache; a multiple of BLOCK_ELEMENTS
FACTOR = 3.0  # of b in `triad`


def arrays(sizes: Sizes) -> tuple[Kinds, Kinds]:
    """Inputs and outputs as {name: (shape, dtype)}."""
    count, dtype = sizes["elements"], sizes["dtype"]
    inputs = dict.fromkeys(("a", "b")[: 2 if sizes["kernel"] == "triad" else 1], ((count,), dtype))
    length = -(-count // BLOCK_ELEMENTS) if sizes["kernel"] == "read" else count
    return inputs, {"out": ((length,), dtype)}


def fill(inputs: Arrays, sizes: Sizes, round: int, data: Any) -> Iterable[str]:
    """Write the inputs of a round in place. Return their names."""
    generator = np.random.default_rng([sizes["seed"], round])
    for array in inputs.values():
        chunked.fill(array, lambda part: generator.random(out=part, dtype=part.dtype))
    return list(inputs)


def cost(sizes: Sizes) -> SimpleNamespace:
    """FLOPs, and bytes loaded and stored, by kernel."""
    loads, stores, flops = {"read": (1, 0, 1), "copy": (1, 1, 0), "triad": (2, 1, 2)}[sizes["kernel"]]
    size = np.dtype(sizes["dtype"]).itemsize * sizes["elements"]
    return SimpleNamespace(flops=flops * sizes["elements"], bytes=(loads + stores) * size, precision=sizes["dtype"])


def check(
    sizes: Sizes, inputs: Arrays, outputs: Arrays, round: int, data: Any, reference: Any, precision: str
) -> Round:
    """Compare every element with the same arithmetic in float64, part by part; the Check with the largest error."""

    def compare_from(start):
        elements = slice(start, start + CHUNK_ELEMENTS)
        results = (
            slice(start // BLOCK_ELEMENTS, (start + CHUNK_ELEMENTS) // BLOCK_ELEMENTS)
            if sizes["kernel"] == "read"
            else elements
        )
        parts = (array[elements].astype(np.float64, copy=False) for array in inputs.values())
        numbers = range(results.start, len(outputs["out"]))
        return compare_part(sizes["kernel"], outputs["out"][results], numbers, precision, *parts)

    checks = chunked.map_on_threads(compare_from, range(0, sizes["elements"], CHUNK_ELEMENTS))
    return [max(checks, key=lambda check: check.error)], None


def compare_part(kernel, out, numbers, precision, a, b=None):
    """The Check of a part of the result, whose elements have these numbers, with the same part of the inputs."""
    if kernel == "copy":
        return compare("copy", out, a, 0.0, numbers)
    if kernel == "triad":
        expected = a + FACTOR * b
        return compare("triad", out, expected, product_factor(2, precision) * expected, numbers)
    sums = np.add.reduceat(a, np.arange(0, len(a), BLOCK_ELEMENTS))
    factor = growing_sum_factor(BLOCK_ELEMENTS, precision) + growing_sum_factor(BLOCK_ELEMENTS, np.float64)
    return compare("sums", out, sums, factor * sums, numbers)
