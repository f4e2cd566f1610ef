"""Version 2 of the earlier study: a thread for each element of a result, by a linear index; n is any.

Reductions go in passes, in each of which a thread sums up `load` elements, by accesses of 16 bytes where they are
aligned: the sums between the passes are traffic that `gemv` and `dot` don't have, whose rows a block sums up at once.
Bound by the bandwidth at which the matrix is read and the products are written; at the sizes of the earlier study by
the latency of a launch, or of one for each pass; `dot`, a single block's, always by latency.
"""

from typing import Literal

from ladder.errors import LadderError
from ladder.workloads.descent_kernel import launch as launches

DEVICE = "cuda"
RUNTIME = "cuda"
REQUIRES = ("cupy",)
SOURCE = "cuda_version2.cu"
MACROS = ("load",)
# n n + n elements have an index of 32 bits.
LIMITS = {"n": (1, 32768), "block": (32, 512)}
# The kernels that the launches of the earlier study concern.
AS_IT_WAS = {"swapped": ("reduction",), "square": ("transpose", "scale", "vecdif", "vecsum")}


def setup(problem, *, block: int = 128, load: int = 4, launch: Literal["right", "swapped", "square"] = "right"):
    """The timed launch of the case's kernel, or the launches of its passes; `launch` as in `launch.LinearIndex`."""
    kernel = problem.sizes["kernel"]
    if launch in AS_IT_WAS and kernel not in AS_IT_WAS[launch]:
        raise LadderError(
            f"launch={launch} of descent_kernel/cuda_version2 concerns {', '.join(AS_IT_WAS[launch])} alone: "
            f"take launch=right for kernel={kernel}."
        )
    return launches.of(problem, launches.LinearIndex("descent_kernel", problem, block, load, launch))
