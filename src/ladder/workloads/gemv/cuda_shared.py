"""GEMV on the GPU, a thread per row of the row-major matrix, x staged block by block in shared memory.

Staging saves loads of x, but few bytes: all threads of a warp read x at the same address, and mostly hit a cache. For
each staged element of x, a block's threads still read `block` elements of the matrix, in as many cache lines, so the
bottleneck is that of `cuda_naive`. In exchange, threads wait for every part of x before they load the next elements of
the matrix, and the warps of a block wait for each other.
"""

from ladder.workloads.gemv import launch

DEVICE = "cuda"
RUNTIME = "cuda"
REQUIRES = ("cupy",)
SOURCE = "cuda_shared.cu"


def setup(problem, *, block: int = 128):
    """The timed product, in blocks of `block` threads and elements of x."""
    return launch.thread_per_row("cuda_shared", problem, block)
