"""Version 2 of the earlier study: a thread per element of a result, by a linear index, so that n may exceed 32.

Blocks have `block` threads. With `launch=study`, grid and block are exchanged as in the study: there are `block` blocks
of as many threads as the n * n products require, at most 1024, so that n is at most 724, for `block` = 512. In
reductions a thread sums `load` elements per pass. Small solves are bound by the latency of the launches and of two
host synchronisations per iteration. Large ones are memory-bound: an iteration reads A twice, and twice writes and
reads n * n products: six times the traffic of reading A once.
"""

from typing import Literal

from ladder.harness.contract import Problem, Run
from ladder.workloads.descent import host_loop
from ladder.workloads.descent_kernel import launch as kernel_launch

DEVICE = "cuda"
RUNTIME = "cuda"
REQUIRES = ("cupy",)
SOURCE = "cuda_version2.cu"
MACROS = ("load",)
LIMITS = {"algorithm": ("steepest",), "n": (1, 16384), "block": (32, 512)}


def setup(problem: Problem, *, block: int = 128, load: int = 4, launch: Literal["right", "study"] = "right") -> Run:
    """The timed solve; `launch` is as in `descent_kernel.launch.LinearIndex`."""
    return host_loop.solver(problem, kernel_launch.LinearIndex("descent", problem, block, load, launch))
