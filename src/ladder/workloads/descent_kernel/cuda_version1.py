"""Version 1 of the earlier study: one block as wide as the matrix, with a warp per row; n is at most 32.

A row is summed by an unrolled reduction in a warp's registers. Bound by the latency of a launch and of a few dependent
accesses: only one multiprocessor is used, and it mostly waits.
"""

from ladder.workloads.descent_kernel import launch

DEVICE = "cuda"
RUNTIME = "cuda"
REQUIRES = ("cupy",)
SOURCE = "cuda_version1.cu"
LIMITS = {"n": (1, 32)}


def setup(problem):
    """The timed launch of the case's kernel."""
    return launch.kernel_launch(problem, launch.OneBlock("descent_kernel", problem))
