"""Wrong on purpose: warps read a tile in shared memory that others may still be writing."""

from ladder.workloads.gemm import cuda_shared, launch

DEVICE = "cuda"
RUNTIME = "cuda"
REQUIRES = ("cupy",)
SOURCE = "planted_race.cu"


def setup(problem):
    """The product without its barriers."""

    def geometry(sizes):
        return cuda_shared.geometry(sizes, block=16)

    # The source has one tiling, without constants.
    return launch.setup(problem, launch.product("planted_race", problem.sizes["form"], geometry, tilings=({},)))
