"""Wrong on purpose: writes a row beyond the end of its result."""

from ladder.workloads.gemm import cuda_naive, launch

DEVICE = "cuda"
RUNTIME = "cuda"
REQUIRES = ("cupy",)
SOURCE = "planted_overrun.cu"


def setup(problem):
    """The product, and a row more."""

    def geometry(m, n, itemsize):
        return cuda_naive.geometry(m + 1, n, itemsize, block=16)

    return launch.setup(problem, launch.product("planted_overrun", problem.sizes["form"], geometry, ({},)))
