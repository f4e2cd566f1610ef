"""GEMM on the GPU's tensor cores: FP64 MMA for float64; TF32 for float32, with operands of 11 significant bits.

A block computes `bm` x `bn` elements of the result in steps of `bk`, a warp `wm` x `wn` of them; `stages` tiles are in
flight or in use. The variant is bound by the tensor cores, or by shared memory if the tiles of a warp are small. With
`splitk` > 1, a cluster of `splitk` blocks shares the sums of a tile, for results of few tiles and long sums. GPUs
before compute capability 9.0 have no clusters; there one block computes the whole tile.
"""

import numpy as np

from ladder.build import binaries
from ladder.harness.contract import Problem, Run
from ladder.workloads.gemm import launch

DEVICE = "cuda"
RUNTIME = "cuda"
REQUIRES = ("cupy",)
SOURCE = "cuda_mma.cu"
PRECISION = {"float32": "tf32"}
# From large results to small ones; with splitk > 1 for long sums. Each was the fastest in its range on an H200 among
# those within 99 KiB of shared memory, which the GPUs of all architectures have.
TILES = {
    "float64": (
        {"bm": 128, "bn": 64, "bk": 16, "wm": 64, "wn": 32, "stages": 4, "splitk": 1},
        {"bm": 64, "bn": 64, "bk": 16, "wm": 32, "wn": 32, "stages": 3, "splitk": 1},
        {"bm": 64, "bn": 64, "bk": 16, "wm": 32, "wn": 32, "stages": 4, "splitk": 8},
        {"bm": 32, "bn": 32, "bk": 32, "wm": 16, "wn": 16, "stages": 3, "splitk": 1},
        {"bm": 32, "bn": 32, "bk": 32, "wm": 16, "wn": 16, "stages": 3, "splitk": 8},
    ),
    "float32": (
        {"bm": 128, "bn": 128, "bk": 32, "wm": 64, "wn": 32, "stages": 3, "splitk": 1},
        {"bm": 64, "bn": 64, "bk": 32, "wm": 32, "wn": 32, "stages": 4, "splitk": 1},
        {"bm": 64, "bn": 64, "bk": 32, "wm": 32, "wn": 32, "stages": 4, "splitk": 4},
        {"bm": 32, "bn": 32, "bk": 32, "wm": 32, "wn": 32, "stages": 4, "splitk": 8},
    ),
}


def geometry(sizes, bm, bn, bk, wm, wn, stages, splitk):
    """Grid, block, and bytes of dynamic shared memory: the tiles, which a cluster's sums overwrite at the end."""
    elements = max(stages * (bm + bn) * bk, bm * bn if splitk > 1 else 0)
    memory = np.dtype(sizes["dtype"]).itemsize * elements
    return (*launch.grid(sizes, bm, bn), splitk), (32 * (bm // wm) * (bn // wn),), memory


def product(form, tilings=TILES):
    """`multiply(a, b, out, c=None)` of a form; shapes as in `ladder.workloads.gemm`."""
    return launch.product("cuda_mma", form, geometry, tilings)


def setup(
    problem: Problem,
    *,
    bm: int = 0,
    bn: int = 0,
    bk: int = 0,
    wm: int = 0,
    wn: int = 0,
    stages: int = 0,
    splitk: int = 0,
) -> Run:
    """The timed product with these tiles, or by default with those of TILES for the shape."""
    tilings = binaries.tiling_or(TILES, bm=bm, bn=bn, bk=bk, wm=wm, wn=wn, stages=stages, splitk=splitk)
    return launch.setup(problem, product(problem.sizes["form"], tilings))
