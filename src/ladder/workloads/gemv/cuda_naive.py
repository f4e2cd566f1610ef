"""GEMV on the GPU, a thread per row of the row-major matrix.

The variant is bound by the load units and by latency, far from the bandwidth. Loads are uncoalesced: the elements that
a warp's threads read at once are a row apart, so a load touches 32 cache lines and uses one element of each 32-byte
sector. Later loads use the sectors' other elements: these hit the L1 cache if it holds the lines of all its threads,
else they are fetched again. Moreover, n threads have few bytes in flight, at most 16 elements each in one or two lines.
"""

from ladder.harness.contract import Problem, Run
from ladder.workloads.gemv import launch

DEVICE = "cuda"
RUNTIME = "cuda"
REQUIRES = ("cupy",)
SOURCE = "cuda_naive.cu"


def setup(problem: Problem, *, block: int = 128) -> Run:
    """The timed product, in blocks of `block` threads."""
    return launch.thread_per_row("cuda_naive", problem, problem.matrix, block=block)
