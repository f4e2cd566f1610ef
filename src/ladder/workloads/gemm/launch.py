"""The launch of the CUDA variants' kernels: arguments, grid, shared memory, and the choice of tiles by shape."""

from math import ceil

import numpy as np

from ladder import cuda
from ladder.errors import LadderError
from ladder.harness.contract import Problem, Run

NULL = np.uintp(0)  # the address of an array that is missing
MAX_ROWS = 65535  # of blocks in a grid
# Bytes of dynamic shared memory that a block can have without opting in.
DEFAULT_SHARED = 48 * 2**10
# The overhead of a block, as a number of terms: the time of BM x BN FMAs each.
BLOCK_OVERHEAD = 64


def product(variant, form, geometry, tilings):
    """`multiply(a, b, out, c=None)` by a form's kernel, on arrays of the GPU; shapes as in `ladder.workloads.gemm`.

    `tilings` are a variant's tunings, among which `fastest_tiling` chooses: a sequence, or {dtype: sequence}.
    `geometry(sizes, **tiling)` returns grid, block, and bytes of dynamic shared memory for a product of these sizes.
    """

    def multiply(a, b, out, c=None):
        (m, n), k, dtype = out.shape, a.shape[0 if form == "tn" else 1], out.dtype.name
        tiling = fastest_tiling(tilings[dtype] if isinstance(tilings, dict) else tilings, m, n, k)
        kernel = cuda.kernel("gemm", variant, f"gemm_{form}", dtype, **tiling)
        grid, block, shared = geometry({"form": form, "m": m, "n": n, "k": k, "dtype": dtype}, **tiling)
        if grid[1] > MAX_ROWS:
            raise LadderError(f"A grid of gemm/{variant} has at most {MAX_ROWS} rows of blocks: choose larger tiles.")
        if shared > DEFAULT_SHARED:
            kernel.max_dynamic_shared_size_bytes = shared
        counts = np.int32(m), np.int32(n), np.int32(k)
        kernel(grid, block, (a, b, NULL if c is None else c, out, *counts), shared_mem=shared)

    return multiply


def thread_per_element(sizes, block):
    """Grid, block, and bytes of dynamic shared memory: blocks of `block` x `block` threads, one per element."""
    return grid(sizes, block, block), (block, block), 0


def grid(sizes, bm, bn):
    """The grid of blocks with `bm` x `bn` elements of the result each."""
    return -(-sizes["n"] // bn), -(-sizes["m"] // bm)


def fastest_tiling(tilings, m, n, k):
    """The tiling with the shortest predicted time for a product of this shape."""
    if len(tilings) == 1:
        return tilings[0]
    return min(tilings, key=lambda tiling: cost(m, n, k, cuda.multiprocessors(), **tiling))


def cost(m, n, k, multiprocessors, bm, bn, bk, splitk=1, **others):
    """A tiling's predicted time in arbitrary units: that of the multiprocessor with the most blocks.

    A block's time is that of its FMAs, padding included, plus a constant. FMAs of small tiles take longer, since each
    loaded element is used by fewer of them.
    """
    blocks = ceil(m / bm) * ceil(n / bn) * splitk
    steps = ceil(k / (bk * splitk)) * bk  # terms of a sum in a block, padding included
    return ceil(blocks / multiprocessors) * bm * bn * (steps + BLOCK_OVERHEAD) * (1 + 8 / bm + 8 / bn)


def setup(problem: Problem, multiply) -> Run:
    """The timed product of a problem."""
    return lambda: multiply(problem.a, problem.b, problem.out, problem.c)
