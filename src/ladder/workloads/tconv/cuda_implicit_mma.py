"""The transposed convolution on the GPU's tensor cores as an implicit GEMM: the gathered matrix isn't stored.

`math` is the type of the operands: TF32, float16 or bfloat16; sums are float32. A block computes `bm` images by `bn`
columns, and a warp `wm` x `wn` of them. The columns are the output channels of `parities` neighbouring elements of the
result: 1, 2 or 4 of its positions (`implicit.cuh`). `stages` tiles are in flight or in use. If `math` is half
precision, or channels don't fill whole vectors, the timed call first converts the image to an array of operands. Bound
by the tensor cores, and by shared memory if warps' tiles are small.
"""

from typing import Literal

from ladder.build import binaries
from ladder.harness.contract import Problem, Run
from ladder.workloads.tconv import implicit, implicit_tensor

DEVICE = "cuda"
RUNTIME = "cuda"
REQUIRES = ("cupy",)
SOURCE = "cuda_implicit_mma.cu"
LIMITS = {"dtype": ("float32",)}
PRECISION = {"float32": "tf32"}  # unless `math` is different
ACTIVATIONS = ("none", "relu", "tanh")
READS_OPERANDS = True  # see `layer.py`
# Each was the fastest in its range on an H200.
TILES = (
    {"bm": 128, "bn": 128, "wm": 64, "wn": 64, "stages": 2, "parities": 1},  # large results
    {"bm": 128, "bn": 64, "wm": 32, "wn": 64, "stages": 3, "parities": 1},  # fewer output channels
    {"bm": 32, "bn": 64, "wm": 32, "wn": 32, "stages": 4, "parities": 1},  # few images
    {"bm": 128, "bn": 16, "wm": 32, "wn": 16, "stages": 4, "parities": 4},  # 3 output channels, many images
    {"bm": 32, "bn": 16, "wm": 32, "wn": 16, "stages": 4, "parities": 4},  # 3 output channels, few images
)
LINE_BYTES = 128  # of a row of a tile, as in the source


def geometry(sizes, bm, bn, wm, wn, stages, parities):
    """Grid, block, and bytes of dynamic shared memory."""
    return implicit.grid(sizes, bm, bn, parities), (32 * (bm // wm) * (bn // wn),), stages * (bm + bn) * LINE_BYTES


def layer(
    problem,
    *,
    math="tf32",
    activation="none",
    result="float32",
    bm: int = 0,
    bn: int = 0,
    wm: int = 0,
    wn: int = 0,
    stages: int = 0,
    parities: int = 0,
):
    """The Layer that reads operands and writes a `result`, "float32" or "operands"; tiles suit the number of images."""
    tilings = binaries.tiling_or(TILES, bm=bm, bn=bn, wm=wm, wn=wn, stages=stages, parities=parities)
    return implicit_tensor.layer(problem, "cuda_implicit_mma", tilings, geometry, math, activation, result)


def setup(
    problem: Problem,
    *,
    math: Literal["tf32", "float16", "bfloat16"] = "tf32",
    bm: int = 0,
    bn: int = 0,
    wm: int = 0,
    wn: int = 0,
    stages: int = 0,
    parities: int = 0,
) -> Run:
    """The timed convolution, with the conversion of the image if necessary; the filter is packed beforehand."""
    tilings = binaries.tiling_or(TILES, bm=bm, bn=bn, wm=wm, wn=wn, stages=stages, parities=parities)
    return implicit_tensor.setup(problem, "cuda_implicit_mma", tilings, geometry, math)
