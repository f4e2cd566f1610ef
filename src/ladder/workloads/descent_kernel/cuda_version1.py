"""Version 1 of the earlier study: a block for each row of the matrix, as wide as the row; n is at most 32.

The launches are those of the study, <<<n, n>>> for a matrix and <<<n, 1>>>, blocks of a single thread, for a vector.
The study's reduction is unrolled by hand; ours is unrolled by the compiler, and n need not be a power of two. The
variant is bound by the latency of a launch and of a few dependent accesses.
"""

from ladder.harness.contract import Problem, Run
from ladder.workloads.descent_kernel import launch

DEVICE = "cuda"
RUNTIME = "cuda"
REQUIRES = ("cupy",)
SOURCE = "cuda_version1.cu"
LIMITS = {"kernel": ("init", "product", "reduction", "transpose", "scale", "vecdif", "vecsum"), "n": (1, 32)}


def setup(problem: Problem) -> Run:
    """The timed launch of the case's kernel."""
    return launch.kernel_launch(problem, launch.BlockPerRow("descent_kernel", problem))
