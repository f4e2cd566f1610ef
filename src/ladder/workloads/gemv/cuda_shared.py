"""GEMV on the GPU, a thread per row of the row-major matrix, x staged block by block in shared memory.

That saves loads of x, which all threads of a warp read at the same place and mostly found in a cache: for each element
of x that a block stages, its threads still read `block` elements of the matrix, in as many lines. So it is bound by
what bounds `cuda_naive`, and the bytes that it saves are a small part of the matrix's; for them its threads
wait for every part of x to arrive before they ask for the matrix's next elements, and in several warps for each other.
"""

from ladder.workloads.gemv import launch

DEVICE = "cuda"
RUNTIME = "cuda"
REQUIRES = ("cupy",)
SOURCE = "cuda_shared.cu"


def setup(problem, *, block: int = 128):
    """The timed product, in blocks of `block` threads and elements of x."""
    return launch.thread_per_row("cuda_shared", problem, block)
