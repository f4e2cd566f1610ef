"""The transposed convolution on the GPU's tensor cores, as products whose gathered matrix is never written.

`math` says what operands are rounded to: TF32, float16 or bfloat16; sums are float32's. A block works on `bm` images by
`bn` output channels at one place of the result, a warp on `wm` x `wn` of them, while `stages` tiles are on their way or
in use; `parities` is as in `cuda_implicit`. Operands of half precision, and those of TF32 whose channels don't fill
vectors, are written to an array of their own before, in the timed call. Bound by the tensor cores, and by shared memory
where warps are small.
"""

from typing import Literal

from ladder.build import binaries
from ladder.workloads.tconv import implicit, implicit_tensor

DEVICE = "cuda"
RUNTIME = "cuda"
REQUIRES = ("cupy",)
SOURCE = "cuda_implicit_mma.cu"
LIMITS = {"dtype": ("float32",)}
PRECISION = {"float32": "tf32"}  # unless `math` is another
ACTIVATIONS = ("none", "relu", "tanh")
OPERANDS = True  # are what a layer reads
# For large results; for fewer channels; for few images; for pictures, of many images and of few. Fastest in their
# places on an H200.
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
    """The Layer from operands to a `result` of float32 or operands, with tiles that suit as many images as come."""
    tilings = binaries.tiling_or(TILES, bm=bm, bn=bn, wm=wm, wn=wn, stages=stages, parities=parities)
    return implicit_tensor.layer(problem, "cuda_implicit_mma", tilings, geometry, math, activation, result)


def setup(
    problem,
    *,
    math: Literal["tf32", "float16", "bfloat16"] = "tf32",
    bm: int = 0,
    bn: int = 0,
    wm: int = 0,
    wn: int = 0,
    stages: int = 0,
    parities: int = 0,
):
    """The timed convolution, the conversion of the image where it is due, and the packing of the filter before it."""
    tilings = binaries.tiling_or(TILES, bm=bm, bn=bn, wm=wm, wn=wn, stages=stages, parities=parities)
    return implicit_tensor.setup(problem, "cuda_implicit_mma", tilings, geometry, math)
