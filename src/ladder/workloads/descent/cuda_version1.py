"""Version 1 of the earlier study: a kernel has a block for each row of A, as wide as the row; n is at most 32.

Latency-bound: about ten launches and two host synchronisations per iteration.
"""

from ladder.harness.contract import Problem, Run
from ladder.workloads.descent import host_loop
from ladder.workloads.descent_kernel import launch

DEVICE = "cuda"
RUNTIME = "cuda"
REQUIRES = ("cupy",)
SOURCE = "cuda_version1.cu"
LIMITS = {"algorithm": ("steepest",), "n": (1, 32)}


def setup(problem: Problem) -> Run:
    """The timed solve."""
    return host_loop.solver(problem, launch.BlockPerRow("descent", problem))
