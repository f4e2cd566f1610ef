"""The transposed convolution on the GPU's tensor cores, as products without a gathered matrix.

`math` is the type of the operands: TF32, float16 or bfloat16; sums are float32. A block computes `bm` images by `bn`
output channels at one element of the result, and a warp `wm` x `wn` of them; `stages` tiles are in flight or in use,
and `parities` is as in `cuda_implicit`. If `math` is half precision, or channels don't fill whole vectors, the timed
call first converts the image to an array of operands. Bound by the tensor cores, and by shared memory if warps' tiles
are small.
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
OPERANDS = True  # a layer reads operands
# For large results, for fewer channels, for few images, for many pictures and for few; each was the fastest in its
# range on an H200.
TILES = (
    {"bm": 128, "bn": 128, "wm": 64, "wn": 64, "stages": 2, "parities": 1},
    {"bm": 128, "bn": 64, "wm": 32, "wn": 64, "stages": 3, "parities": 1},
    {"bm": 32, "bn": 64, "wm": 32, "wn": 32, "stages": 4, "parities": 1},
    {"bm": 128, "bn": 16, "wm": 32, "wn": 16, "stages": 4, "parities": 4},
    {"bm": 32, "bn": 16, "wm": 32, "wn": 16, "stages": 4, "parities": 4},
)


def geometry(sizes, bm, bn, wm, wn, stages, parities):
    """Grid, block, and bytes of dynamic shared memory."""
    return implicit.grid(sizes, bm, bn, parities), (32 * (bm // wm) * (bn // wn),), stages * (bm + bn) * 128


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
    """The Layer from operands to a `result`, "float32" or "operands", with tiles for the number of images."""
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
    """The timed convolution, with the conversion of the image if necessary; the filter is packed before."""
    tilings = binaries.tiling_or(TILES, bm=bm, bn=bn, wm=wm, wn=wn, stages=stages, parities=parities)
    return implicit_tensor.setup(problem, "cuda_implicit_mma", tilings, geometry, math)
