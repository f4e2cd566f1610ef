"""The launches of the earlier study's two versions, for single kernels and for whole solves.

Each method returns a function that launches, with its arguments prepared beforehand, so that a call costs the host
little. A matrix has shape (rows, columns); it may be a single row.
"""

from functools import partial

import numpy as np

from ladder import cuda
from ladder.errors import LadderError
from ladder.harness.steps import chain_steps
from ladder.workloads.descent_kernel import ALPHA
from ladder.workloads.descent_kernel.passes import pass_lengths, study_load

WARP = 32
MAX_THREADS = 1024  # threads of a block
# The kernels that the study launched with grid and block exchanged, and those on n elements that had n * n threads.
EXCHANGED_KERNELS = "init", "product", "reduction", "transpose", "scale", "vecdif", "vecsum"
SQUARED_KERNELS = "transpose", "vecsum"


class BlockPerRow:
    """Version 1: a block for each row of a matrix, a thread for each element; for vectors blocks of one thread."""

    def __init__(self, workload, problem):
        self.kernel = partial(cuda.kernel, workload, "cuda_version1", dtype=problem.sizes["dtype"])

    def init(self, matrix):
        """matrix[i] = i."""
        return self.launch_rows("init", matrix)

    def product(self, matrix, x, products):
        """products[i, j] = matrix[i, j] x[j]."""
        return self.launch_rows("product", matrix, x, products)

    def reduction(self, terms, sums):
        """The sum of each row."""
        return self.launch_rows("reduction", terms, sums)

    def launch_rows(self, name, matrix, *vectors):
        """The launch of a kernel on a matrix of at most 32 columns."""
        rows, columns = matrix.shape
        return partial(self.kernel(name), (rows,), (columns,), (matrix, *vectors))

    def launch_vectors(self, name, *arguments):
        """transpose, scale, vecdif or vecsum; the last argument is the result."""
        count = arguments[-1].size
        return partial(self.kernel(name), (count,), (1,), (*arguments, np.uint32(count)))


class LinearIndex:
    """Version 2: a thread per element of a result, by a linear index.

    A reduction has passes of `load` elements a thread; a load of 0 is the earlier study's for the number of columns.
    With `launch` "right", a block has `block` threads. With "study", EXCHANGED_KERNELS and SQUARED_KERNELS are launched
    as by the study: the former in `block` blocks.
    """

    def __init__(self, workload, problem, block, load, launch):
        if block % WARP:
            raise LadderError(f"block={block} of {workload}/cuda_version2 must be a multiple of {WARP}, a warp.")
        self.block, self.load, self.launch = block, load or study_load(problem.sizes["n"]), launch
        self.kernel = partial(cuda.kernel, workload, "cuda_version2", dtype=problem.sizes["dtype"], load=self.load)
        self.empty = partial(problem.device.empty, dtype=problem.sizes["dtype"])

    def launch_threads(self, threads, name, *arguments):
        """A launch of at least `threads` threads; with grid and block exchanged, there are `block` blocks."""
        grid, block = -(-threads // self.block), self.block
        if self.launch == "study" and name in EXCHANGED_KERNELS:
            if grid > MAX_THREADS:
                raise LadderError(
                    f"{name} has {grid} blocks. With launch=study this is the number of threads of a block, "
                    f"{MAX_THREADS} at most: lower n, or raise block."
                )
            grid, block = block, grid
        return partial(self.kernel(name), (grid,), (block,), arguments)

    def init(self, matrix):
        """matrix[i] = i."""
        return self.launch_threads(matrix.size, "init", matrix, np.uint32(len(matrix)))

    def hash(self, key, matrix, b):
        """A and b from their hashed indices."""
        return self.launch_threads(matrix.size + b.size, "hash", key, matrix, b, np.uint32(b.size))

    def product(self, matrix, x, products):
        """products[i, j] = matrix[i, j] x[j]."""
        rows, columns = map(np.uint32, matrix.shape)
        return self.launch_threads(matrix.size, "product", matrix, x, products, rows, columns)

    def reduction(self, terms, sums):
        """The sum of each row, in passes."""
        passes, (rows, columns) = [], terms.shape
        for length in pass_lengths(columns, self.load):
            out = sums if length == 1 else self.empty((rows, length))
            arguments = (terms, out, np.uint32(rows), np.uint32(columns))
            passes.append((f"of {columns}", self.launch_threads(rows * length, "reduction", *arguments)))
            terms, columns = out, length
        return chain_steps(passes)

    def gemv(self, matrix, x, y):
        """y = matrix x, a block per row."""
        rows, columns = matrix.shape
        return partial(self.kernel("gemv"), (rows,), (self.block,), (matrix, x, y, np.uint32(columns)))

    def launch_vectors(self, name, *arguments):
        """transpose, scale, vecdif or vecsum; the last argument is the result."""
        count = arguments[-1].size
        threads = count**2 if self.launch == "study" and name in SQUARED_KERNELS else count
        return self.launch_threads(threads, name, *arguments, np.uint32(count))


def kernel_launch(problem, kernels):
    """The launch of a case's kernel by a BlockPerRow or a LinearIndex."""
    kernel, inputs, out = problem.sizes["kernel"], problem.inputs.values(), problem.out
    match kernel:
        case "init":
            return kernels.init(out)
        case "hash":
            return kernels.hash(problem.key, out, problem.b)
        case "dot":
            return kernels.gemv(problem.x.reshape(1, -1), problem.y, out)
        case "product" | "reduction" | "gemv":
            return getattr(kernels, kernel)(*inputs, out)
        case "scale":
            return kernels.launch_vectors(kernel, problem.x, out.dtype.type(ALPHA), out)
        case _:
            return kernels.launch_vectors(kernel, *inputs, out)
