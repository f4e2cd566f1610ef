"""The transposed convolution on the GPU, a thread per element and channel of the result, with a branch per tap.

The branch admits 4, 6 or 9 of 25 taps, fewer at the border, and different ones in the threads of a warp. The variant is
bound by its loads: each multiply-add loads two values, which hit the caches.
"""

from ladder.harness.contract import Problem, Run
from ladder.workloads.tconv import launch
from ladder.workloads.tconv.layer import steps

DEVICE = "cuda"
RUNTIME = "cuda"
REQUIRES = ("cupy",)
SOURCE = "cuda_naive.cu"
# The maximum number of images is that of blocks along y of a grid.
LIMITS = {"images": (1, 65535), "channels": (1, 1024), "columns": (1, 1024), "rows": (1, 64)}

geometry = launch.geometry


def layer(problem, *, channels: int = 2, columns: int = 4, rows: int = 4):
    """The Layer, in blocks of `channels` x `columns` x `rows` threads."""
    return launch.thread_per_element(problem, "cuda_naive", channels=channels, columns=columns, rows=rows)


def setup(problem: Problem, *, channels: int = 2, columns: int = 4, rows: int = 4) -> Run:
    """The timed convolution, in blocks of `channels` x `columns` x `rows` threads."""
    return steps(problem, layer(problem, channels=channels, columns=columns, rows=rows))
