"""GEMV, the product of a matrix and a vector: y = M x.

Inputs are drawn uniformly from [-1, 1) by the seed; in large arrays the numbers repeat (`ladder.devices.chunked`). In
the second of the two rounds that are checked (`round` = 1), they are whole numbers, scaled by a power of two; the
result is then exact in every order of summation, and must be equal. Every element of the matrix is used once, for two
FLOPs: a large product is bound by the bandwidth at which the matrix is read.

Shapes: matrix (n, m), x (m,) and y (n,), row-major and all of one dtype, float64 or float32.
"""

from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any

import numpy as np

from ladder.devices import chunked
from ladder.harness.contract import Arrays, Kinds, Round, Sizes
from ladder.harness.validation import compare, fill_with_integers, integer_bits, random_sum_factor, reference_type

RUNGS = {
    "openmp": "rows shared among OpenMP threads, four at once",
    "openmp_bound": "threads bound to cores, with their rows in the nearest memory",
    "c_openmp": "the plain loop in C, with OpenMP's schedules static, dynamic or guided",
    "blas": "SciPy's BLAS, OpenBLAS in its wheels",
    "mpi": "rows scattered over MPI ranks, one per core",
    "mpi_openmp": "fewer ranks, with OpenMP threads in each",
    "cuda_naive": "a thread per row on a GPU",
    "cuda_coalesced": "a thread per column of the transposed matrix, for coalesced loads",
    "cuda_shared": "the same, with parts of x in shared memory",
    "cuda_warp": "a team of threads for several rows, 16-byte accesses",
    "cublas": "cuBLAS",
    "mpi_cublas": "cuBLAS on several GPUs, rows through MPI and host memory",
    "nccl_cublas": "cuBLAS on several GPUs, rows between GPUs by NCCL",
    "pytorch": "peer: PyTorch on the CPU, MKL in its wheels for x86",
}
CEILING = "raises bandwidth"  # can raise the ceiling `bandwidth`, which another workload sets
SIZES = {"n": int, "m": int, "dtype": ("float64", "float32"), "seed": 1}
# Cases in which errors are injected, to see what the checks detect.
SENSITIVITY = [("blas", {"threads": 1}, {"n": 37, "m": 17}), ("blas", {"threads": 1}, {"n": 37, "m": 64})]


def has_integer_inputs(round):
    """Whether a round's inputs are whole numbers."""
    return round == 1


def arrays(sizes: Sizes) -> tuple[Kinds, Kinds]:
    """Inputs and outputs as {name: (shape, dtype)}."""
    n, m, dtype = sizes["n"], sizes["m"], sizes["dtype"]
    return {"matrix": ((n, m), dtype), "x": ((m,), dtype)}, {"y": ((n,), dtype)}


def fill(inputs: Arrays, sizes: Sizes, round: int, data: Any) -> Iterable[str]:
    """Write the inputs of a round in place, without a copy of the matrix. Return their names."""
    generator = np.random.default_rng([sizes["seed"], round])

    def draw(part):
        if has_integer_inputs(round):
            fill_with_integers(generator, part, integer_bits(sizes["m"], sizes["dtype"]))
            return
        generator.random(out=part, dtype=part.dtype)
        part *= 2
        part -= 1

    for array in inputs.values():
        chunked.fill(array, draw)
    return list(inputs)


def cost(sizes: Sizes) -> SimpleNamespace:
    """FLOPs, two per element of the matrix, and bytes moved: every array once."""
    n, m = sizes["n"], sizes["m"]
    size = np.dtype(sizes["dtype"]).itemsize
    return SimpleNamespace(flops=2 * n * m, bytes=(n * m + n + m) * size, precision=sizes["dtype"])


def check(
    sizes: Sizes, inputs: Arrays, outputs: Arrays, round: int, data: Any, reference: Any, precision: str
) -> Round:
    """Compare every element with a plain sum in float64 or better, never BLAS; no curve.

    A projection of a large result, as in `gemm`, would read the matrix as often and detect less.
    """
    exact_type = reference_type(sizes["m"], sizes["dtype"])
    expected, scale = sums(inputs["matrix"], inputs["x"], exact_type)
    if has_integer_inputs(round):
        return [compare("product, whole numbers", outputs["y"], expected, 0.0)], None
    bound = random_sum_factor(sizes["m"], precision) + random_sum_factor(sizes["m"], exact_type)
    return [compare("product", outputs["y"], expected, bound * scale)], None


def sums(matrix, x, exact_type=np.float64):
    """M x in `exact_type`, and the root of each row's sum of squared products; M is not copied.

    Each thread makes few long calls, since in many short ones it would mostly wait for the global interpreter lock.
    """
    n, x = len(matrix), x.astype(exact_type)
    squared, (expected, squares) = x * x, np.zeros((2, n), exact_type)

    def add(rows):
        np.einsum("ij,j->i", matrix[rows], x, out=expected[rows])
        np.einsum("ij,ij,j->i", matrix[rows], matrix[rows], squared, out=squares[rows])

    chunked.map_on_threads(add, chunked.chunk_slices(n))
    return expected, np.sqrt(squares)
