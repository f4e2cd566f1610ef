"""Version 1 of the earlier study: one block as wide as the matrix, of a warp for each row; n is at most 32.

A row's sum is that of its warp, unrolled, and never leaves the registers. Bound by latency, of a launch and of a few
dependent accesses: a single multiprocessor works, and most of its time it waits.
"""

from ladder.workloads.descent_kernel import launch

DEVICE = "cuda"
RUNTIME = "cuda"
REQUIRES = ("cupy",)
SOURCE = "cuda_version1.cu"
LIMITS = {"n": (1, 32)}


def setup(problem):
    """The timed launch of the case's kernel."""
    return launch.of(problem, launch.OneBlock("descent_kernel", problem))
