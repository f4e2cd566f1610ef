"""The implicit products on tensor cores that read both operands from shared memory, for compute capability 9.0.

Like `cuda_implicit_mma`, but the products run asynchronously while the next tiles are copied, and no operand passes
through registers. A block of `bm` x `bn` has `groups` warpgroups. With `parities` = 2, two elements side by side, which
share most of their pixels, are columns of one product: for few output channels, fewer tiles are copied, and five in six
multiply-adds are needed. Latency-bound: with few channels, no unit of an H200, neither tensor cores nor a cache, is
busy for 60 % of a call.
"""

from typing import Literal

from ladder.build import binaries
from ladder.harness.contract import Problem, Run
from ladder.workloads.tconv import implicit, implicit_tensor

DEVICE = "cuda"
RUNTIME = "cuda"
REQUIRES = ("cupy",)
SOURCE = "cuda_implicit_wgmma.cu"
LIMITS = {"dtype": ("float32",)}
PRECISION = {"float32": "tf32"}  # unless `math` is different
ACTIVATIONS = ("none", "relu", "tanh")
READS_OPERANDS = True  # see `layer.py`
LINE_BYTES = 128  # of a row of a tile, as in the source
# Each was the fastest in its range on an H200.
TILES = (
    {"bm": 256, "bn": 128, "groups": 2, "stages": 4, "parities": 1},  # for large results
    {"bm": 128, "bn": 128, "groups": 1, "stages": 4, "parities": 1},  # for fewer images
    {"bm": 128, "bn": 64, "groups": 1, "stages": 4, "parities": 1},  # for fewer channels
    {"bm": 64, "bn": 64, "groups": 1, "stages": 4, "parities": 1},  # for few images
    {"bm": 256, "bn": 128, "groups": 2, "stages": 4, "parities": 2},  # for few channels, like the next tiling
    {"bm": 128, "bn": 128, "groups": 1, "stages": 3, "parities": 2},
)


def geometry(sizes, bm, bn, groups, stages, parities):
    """Grid, block, and bytes of dynamic shared memory."""
    return implicit.grid(sizes, bm, bn, parities), (128 * groups,), stages * (bm + bn) * LINE_BYTES


def layer(
    problem,
    *,
    math="tf32",
    activation="none",
    result="float32",
    bm: int = 0,
    bn: int = 0,
    groups: int = 0,
    stages: int = 0,
    parities: int = 0,
):
    """The Layer from operands to a `result`, "float32" or "operands", with tiles for the number of images."""
    implicit_tensor.require_warpgroups("cuda_implicit_wgmma")
    tilings = binaries.tiling_or(TILES, bm=bm, bn=bn, groups=groups, stages=stages, parities=parities)
    return implicit_tensor.layer(problem, "cuda_implicit_wgmma", tilings, geometry, math, activation, result)


def setup(
    problem: Problem,
    *,
    math: Literal["tf32", "float16", "bfloat16"] = "tf32",
    bm: int = 0,
    bn: int = 0,
    groups: int = 0,
    stages: int = 0,
    parities: int = 0,
) -> Run:
    """The timed convolution, with the conversion of the image if necessary; the filter is packed before."""
    implicit_tensor.require_warpgroups("cuda_implicit_wgmma")
    tilings = binaries.tiling_or(TILES, bm=bm, bn=bn, groups=groups, stages=stages, parities=parities)
    return implicit_tensor.setup(problem, "cuda_implicit_wgmma", tilings, geometry, math)
