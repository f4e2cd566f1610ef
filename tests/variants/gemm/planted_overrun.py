"""Wrong on purpose: writes a row beyond the end of its result."""

from ladder.workloads.gemm import cuda_naive, launch

DEVICE = "cuda"
RUNTIME = "cuda"
REQUIRES = ("cupy",)
SOURCE = "planted_overrun.cu"


def setup(problem):
    """The product, and a row more."""

    def geometry(sizes):
        return cuda_naive.geometry(sizes | {"m": sizes["m"] + 1}, block=16)

    return launch.setup(problem, launch.product("planted_overrun", problem.sizes["form"], geometry, tilings=({},)))
