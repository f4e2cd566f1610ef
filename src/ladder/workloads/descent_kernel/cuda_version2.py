"""Version 2 of the earlier study: a thread per element of a result, by a linear index, so that n may exceed 32.

A reduction has several passes. In each, a thread sums `load` elements, by 16-byte accesses if they are aligned; by
default as many as the study for this n. There, a thread read its elements one by one, and n had to be a power of the
load. The sums between passes are additional traffic compared with `gemv` and `dot`, in which a block reduces a whole
row. Kernels on large arrays are bound by the bandwidth at which the matrix is read and the products are written; at the
sizes of the study, by the latency of a launch per pass. `dot`, with a single block, is always latency-bound.

With `launch=study` every launch is the study's: grid and block are exchanged, so that there are `block` blocks of as
many threads as the elements require, at most 1024, and `transpose` and `vecsum` have n * n threads. The study copied
the result of each pass back outside its timed events; ours has nothing to copy.
"""

from typing import Literal

from ladder.errors import LadderError
from ladder.harness.contract import Problem, Run
from ladder.workloads.descent_kernel import launch as launches

DEVICE = "cuda"
RUNTIME = "cuda"
REQUIRES = ("cupy",)
SOURCE = "cuda_version2.cu"
MACROS = ("load",)
TILES = ({"load": 4}, {"load": 8}, {"load": 12})
# The n * n + n elements have 32-bit indices.
LIMITS = {"n": (1, 32768), "block": (32, 512)}


def setup(problem: Problem, *, block: int = 128, load: int = 0, launch: Literal["right", "study"] = "right") -> Run:
    """The timed launch of the case's kernel, or the launches of its passes, as in `launch.LinearIndex`."""
    kernel = problem.sizes["kernel"]
    if launch == "study" and kernel not in launches.EXCHANGED_KERNELS:
        raise LadderError(
            f"launch=study of descent_kernel/cuda_version2 is only for {', '.join(launches.EXCHANGED_KERNELS)}: "
            f"take launch=right for kernel={kernel}."
        )
    return launches.kernel_launch(problem, launches.LinearIndex("descent_kernel", problem, block, load, launch))
