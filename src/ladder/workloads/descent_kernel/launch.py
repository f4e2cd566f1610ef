"""The launches of the earlier study's two versions, for single kernels and for whole solves.

Each method returns a function that launches, with its arguments prepared beforehand, so that a call costs the host
little. A matrix has shape (rows, columns); it may be a single row.
"""

from functools import partial

import numpy as np

from ladder import cuda
from ladder.errors import LadderError
from ladder.harness.steps import in_order
from ladder.workloads.descent_kernel import ALPHA
from ladder.workloads.descent_kernel.passes import lengths

WARP = 32
MAX_THREADS = 1024  # threads of a block


class OneBlock:
    """Version 1: a single block, with a warp per row of a matrix or a thread per element of a vector."""

    def __init__(self, workload, problem):
        self.kernel = partial(cuda.kernel, workload, "cuda_version1", dtype=problem.sizes["dtype"])

    def by_rows(self, name, matrix, *vectors):
        """The launch of product, reduction or gemv, by name, on a matrix of at most 32 rows and columns."""
        rows, columns = matrix.shape
        return partial(self.kernel(name), (1,), (WARP, rows), (matrix, *vectors, np.uint32(columns)))

    def init(self, key, matrix, b):
        """A and b from their indices."""
        return partial(self.kernel("init"), (1,), (WARP, b.size), (key, matrix, b, np.uint32(b.size)))

    def product(self, matrix, x, products):
        """products[i, j] = matrix[i, j] x[j]."""
        return self.by_rows("product", matrix, x, products)

    def reduction(self, terms, sums):
        """The sum of each row."""
        return self.by_rows("reduction", terms, sums)

    def gemv(self, matrix, x, y):
        """y = matrix x."""
        return self.by_rows("gemv", matrix, x, y)

    def on_vectors(self, name, *arguments):
        """transpose, scale, vecdif or vecsum; the last argument is the result."""
        count = arguments[-1].size
        return partial(self.kernel(name), (1,), (count,), (*arguments, np.uint32(count)))


class LinearIndex:
    """Version 2: a thread per element of a result, by a linear index, in blocks of `block` threads.

    `launch` is "right", or a mistake of the earlier study: with "swapped", reductions exchange grid and block; with
    "square", operations on vectors of n elements have n n threads.
    """

    def __init__(self, workload, problem, block, load, launch):
        if block % WARP:
            raise LadderError(f"block={block} of {workload}/cuda_version2 must be a multiple of {WARP}, a warp.")
        dtype = problem.sizes["dtype"]
        self.kernel = partial(cuda.kernel, workload, "cuda_version2", dtype=dtype, load=load)
        self.empty = partial(problem.device.empty, dtype=dtype)
        self.block, self.load, self.launch = block, load, launch

    def launch_threads(self, threads, name, *arguments):
        """A launch of at least `threads` threads."""
        return partial(self.kernel(name), (-(-threads // self.block),), (self.block,), arguments)

    def launch_swapped(self, threads, name, *arguments):
        """Like `launch_threads`, with grid and block exchanged."""
        blocks = -(-threads // self.block)
        if blocks > MAX_THREADS:
            raise LadderError(
                f"{name} has {blocks} blocks. With launch=swapped this is the number of threads of a block, "
                f"{MAX_THREADS} at most: lower n, or raise block."
            )
        return partial(self.kernel(name), (self.block,), (blocks,), arguments)

    def init(self, key, matrix, b):
        """A and b from their indices."""
        return self.launch_threads(matrix.size + b.size, "init", key, matrix, b, np.uint32(b.size))

    def product(self, matrix, x, products):
        """products[i, j] = matrix[i, j] x[j]."""
        rows, columns = map(np.uint32, matrix.shape)
        return self.launch_threads(matrix.size, "product", matrix, x, products, rows, columns)

    def reduction(self, terms, sums):
        """The sum of each row, in passes."""
        launch_threads = self.launch_swapped if self.launch == "swapped" else self.launch_threads
        passes, (rows, columns) = [], terms.shape
        for length in lengths(columns, self.load):
            out = sums if length == 1 else self.empty((rows, length))
            arguments = (terms, out, np.uint32(rows), np.uint32(columns))
            passes.append((f"of {columns}", launch_threads(rows * length, "reduction", *arguments)))
            terms, columns = out, length
        return in_order(passes)

    def gemv(self, matrix, x, y):
        """y = matrix x, a block per row."""
        rows, columns = matrix.shape
        return partial(self.kernel("gemv"), (rows,), (self.block,), (matrix, x, y, np.uint32(columns)))

    def on_vectors(self, name, *arguments):
        """transpose, scale, vecdif or vecsum; the last argument is the result."""
        count = arguments[-1].size
        threads = count**2 if self.launch == "square" else count
        return self.launch_threads(threads, name, *arguments, np.uint32(count))


def kernel_launch(problem, kernels):
    """The launch of a case's kernel by a OneBlock or a LinearIndex."""
    kernel, inputs, out = problem.sizes["kernel"], problem.inputs.values(), problem.out
    match kernel:
        case "init":
            return kernels.init(problem.key, out, problem.b)
        case "dot":
            return kernels.gemv(problem.x.reshape(1, -1), problem.y, out)
        case "product" | "reduction" | "gemv":
            return getattr(kernels, kernel)(*inputs, out)
        case "scale":
            return kernels.on_vectors(kernel, problem.x, out.dtype.type(ALPHA), out)
        case _:
            return kernels.on_vectors(kernel, *inputs, out)
