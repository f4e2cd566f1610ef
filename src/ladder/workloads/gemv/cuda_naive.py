"""GEMV on the GPU, a thread per row of the row-major matrix.

The elements that a warp's threads read at once are a row apart, each in a line of its own: a load takes 32 lines, and
of each 32 bytes that come from memory it uses one element. The others are asked for by later loads, which find them in
the L1 cache where it holds the lines of all its threads, and fetch them again where not. Besides, n threads have few
bytes on their way, at best 16 elements each and those in one or two lines. So it is bound by the load units and
latency, far from the bandwidth at which the n m elements could be read.
"""

from ladder.workloads.gemv import launch

DEVICE = "cuda"
RUNTIME = "cuda"
REQUIRES = ("cupy",)
SOURCE = "cuda_naive.cu"


def setup(problem, *, block: int = 128):
    """The timed product, in blocks of `block` threads."""
    return launch.thread_per_row("cuda_naive", problem, block)
