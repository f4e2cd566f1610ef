"""The product by `cuda_shared`, then a wait of `percent` % of the product's time: a planted slowdown on a GPU.

`setup` times the product, because a kernel that waits can't know how long the kernel before it took.
"""

from statistics import median

from ladder.cuda import clock
from ladder.workloads.gemm import cuda_shared

DEVICE = "cuda"
RUNTIME = "cuda"
REQUIRES = ("cupy",)
TIMINGS = 20


def setup(problem, *, percent: int):
    """The product and the wait."""
    multiply, wait = cuda_shared.setup(problem), clock.spin_kernel()
    seconds = median(clock.stopwatch(multiply) for _ in range(TIMINGS))
    nanoseconds = round(seconds * 1e9 * percent / 100)

    def run():
        multiply()
        wait((1,), (1,), (nanoseconds,))

    return run
