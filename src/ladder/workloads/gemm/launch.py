"""What the CUDA variants' launchers share: arguments, grid, dynamic shared memory."""

import numpy as np

from ladder.devices import cuda
from ladder.errors import LadderError

NO_ARRAY = np.uintp(0)
MOST_ROWS = 65535
# What a block gets without asking.
STATIC_SHARED = 48 * 2**10


def product(variant, form, geometry, **tuning):
    """`multiply(a, b, out, c=None)` by a form's kernel, on arrays of the GPU; shapes as in `ladder.workloads.gemm`.

    `geometry(m, n, itemsize)` gives grid, block, and the bytes of dynamic shared memory.
    """

    def multiply(a, b, out, c=None):
        (m, n), k = out.shape, a.shape[0 if form == "tn" else 1]
        kernel = cuda.kernel("gemm", variant, f"gemm_{form}", out.dtype.name, **tuning)
        grid, block, shared = geometry(m, n, out.dtype.itemsize)
        if grid[1] > MOST_ROWS:
            raise LadderError(f"A grid of gemm/{variant} has at most {MOST_ROWS} rows of blocks: take larger tiles.")
        if shared > STATIC_SHARED:
            kernel.max_dynamic_shared_size_bytes = shared
        sizes = np.int32(m), np.int32(n), np.int32(k)
        kernel(grid, block, (a, b, NO_ARRAY if c is None else c, out, *sizes), shared_mem=shared)

    return multiply


def setup(problem, multiply):
    """The timed product of a problem."""
    return lambda: multiply(problem.a, problem.b, problem.out, problem.c)
