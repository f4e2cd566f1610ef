"""GEMM on the GPU without tensor cores: tiles in shared memory, smaller tiles of them in registers.

A block computes `bm` x `bn` elements of the result in steps of `bk`, a thread `tm` x `tn` of them, so that an element
read from shared memory is used by `tm` or `tn` FMAs. The variant is bound by the floating-point units if the tiles are
large enough. With `splitk` > 1, a cluster of `splitk` blocks shares the sums of a tile, for results of few tiles and
long sums. GPUs before compute capability 9.0 have no clusters; there one block computes the whole tile.
"""

from ladder.build import binaries
from ladder.harness.contract import Problem, Run
from ladder.workloads.gemm import launch

DEVICE = "cuda"
RUNTIME = "cuda"
REQUIRES = ("cupy",)
SOURCE = "cuda_tiled.cu"
# From large results to small ones; with splitk > 1 for long sums. Each was the fastest in its range on an H200.
TILES = {
    "float64": (
        {"bm": 64, "bn": 64, "bk": 16, "tm": 8, "tn": 8, "splitk": 1},
        {"bm": 64, "bn": 64, "bk": 16, "tm": 8, "tn": 8, "splitk": 8},
        {"bm": 32, "bn": 32, "bk": 16, "tm": 4, "tn": 4, "splitk": 1},
        {"bm": 32, "bn": 32, "bk": 16, "tm": 4, "tn": 4, "splitk": 8},
    ),
    "float32": (
        {"bm": 128, "bn": 128, "bk": 16, "tm": 16, "tn": 8, "splitk": 1},
        {"bm": 64, "bn": 64, "bk": 16, "tm": 4, "tn": 8, "splitk": 1},
        {"bm": 64, "bn": 64, "bk": 16, "tm": 4, "tn": 8, "splitk": 8},
        {"bm": 32, "bn": 64, "bk": 32, "tm": 4, "tn": 4, "splitk": 1},
        {"bm": 32, "bn": 32, "bk": 16, "tm": 4, "tn": 4, "splitk": 4},
    ),
}


def geometry(sizes, bm, bn, bk, tm, tn, splitk):
    """Grid, block, and bytes of dynamic shared memory."""
    return (*launch.grid(sizes, bm, bn), splitk), (bm // tm * (bn // tn),), 0


def product(form, tilings=TILES):
    """`multiply(a, b, out, c=None)` of a form; shapes as in `ladder.workloads.gemm`."""
    return launch.product("cuda_tiled", form, geometry, tilings)


def setup(problem: Problem, *, bm: int = 0, bn: int = 0, bk: int = 0, tm: int = 0, tn: int = 0, splitk: int = 0) -> Run:
    """The timed product with these tiles, or by default with those of TILES for the shape."""
    tilings = binaries.tiling_or(TILES, bm=bm, bn=bn, bk=bk, tm=tm, tn=tn, splitk=splitk)
    return launch.setup(problem, product(problem.sizes["form"], tilings))
