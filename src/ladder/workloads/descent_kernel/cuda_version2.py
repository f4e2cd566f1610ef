"""Version 2 of the earlier study: a thread per element of a result, by a linear index, for any n.

A reduction has several passes. In each, a thread sums `load` elements, by 16-byte accesses if they are aligned. The
sums between passes are additional traffic compared with `gemv` and `dot`, in which a block reduces a whole row. Kernels
on large arrays are bound by the bandwidth at which the matrix is read and the products are written; at the sizes of the
earlier study, by the latency of a launch per pass. `dot`, with a single block, is always latency-bound.
"""

from typing import Literal

from ladder.errors import LadderError
from ladder.workloads.descent_kernel import launch as launches

DEVICE = "cuda"
RUNTIME = "cuda"
REQUIRES = ("cupy",)
SOURCE = "cuda_version2.cu"
MACROS = ("load",)
# The n n + n elements have 32-bit indices.
LIMITS = {"n": (1, 32768), "block": (32, 512)}
# The kernels that the earlier study launched with grid and block swapped, or with n n threads.
KERNELS_OF_LAUNCH = {"swapped": ("reduction",), "square": ("transpose", "scale", "vecdif", "vecsum")}


def setup(problem, *, block: int = 128, load: int = 4, launch: Literal["right", "swapped", "square"] = "right"):
    """The timed launch of the case's kernel, or the launches of its passes; `launch` is as in `launch.LinearIndex`."""
    kernel = problem.sizes["kernel"]
    if launch in KERNELS_OF_LAUNCH and kernel not in KERNELS_OF_LAUNCH[launch]:
        raise LadderError(
            f"launch={launch} of descent_kernel/cuda_version2 is only for {', '.join(KERNELS_OF_LAUNCH[launch])}: "
            f"take launch=right for kernel={kernel}."
        )
    return launches.kernel_launch(problem, launches.LinearIndex("descent_kernel", problem, block, load, launch))
