"""GEMV on the GPU, a thread per row of the row-major matrix.

Loads are uncoalesced: the elements that a warp's threads read at once are a row apart, so a load touches 32 lines, and
uses one element of each 32-byte sector. Later loads use the others, which hit the L1 cache if it holds the lines of all
its threads, and are fetched again if not. Moreover, n threads have few bytes in flight, at most 16 elements each, in
one or two lines. So it is bound by the load units and by latency, far from the bandwidth at which the n m elements
could be read.
"""

from ladder.workloads.gemv import launch

DEVICE = "cuda"
RUNTIME = "cuda"
REQUIRES = ("cupy",)
SOURCE = "cuda_naive.cu"


def setup(problem, *, block: int = 128):
    """The timed product, in blocks of `block` threads."""
    return launch.thread_per_row("cuda_naive", problem, block)
