"""GEMM in float32 without tensor cores on compute capability 9.0: packed operands, tiles copied by the TMA.

Operands contiguous along k are transposed before the product, others copied if their rows aren't a multiple of 16
bytes; both cost little if all sides are long. Then a block computes tiles of `bm` x `bn` elements of the result, a warp
`wm` x `wn` of them, a lane up to 8 x 8; `blocks` blocks fit on a multiprocessor. One thread copies tiles to `stages`
buffers with the Tensor Memory Accelerator (TMA) and runs ahead of the warps that multiply, across tiles. The blocks
share the tiles as in `persistent`, where tiles are split along k unless `stream_k` is off.

The variant is bound by arithmetic if all sides are long, else by the copies of the operands, which `cuda_tiled` doesn't
make.
"""

from math import ceil
from typing import Literal

from ladder import cuda
from ladder.build import binaries
from ladder.errors import LadderError
from ladder.harness.contract import Problem, Run
from ladder.workloads.gemm import launch, persistent

DEVICE = "cuda"
RUNTIME = "cuda"
REQUIRES = ("cupy",)
SOURCE = "cuda_packed.cu"
LIMITS = {"dtype": ("float32",)}
TILES = (
    {"bm": 128, "bn": 64, "wm": 32, "wn": 64, "stages": 4, "blocks": 2},
    {"bm": 64, "bn": 128, "wm": 32, "wn": 64, "stages": 4, "blocks": 2},
    {"bm": 64, "bn": 64, "wm": 32, "wn": 32, "stages": 6, "blocks": 2},
)
PRODUCER_THREADS = 128  # a block's warpgroup that copies; only its first thread uses the TMA
# Fitted to the times of 150 shapes, drawn at random with no side below 128, on an H200.
MODEL = persistent.Model(
    multiply_adds_per_cycle=128,
    line_cycles=9.0,
    element_cycles=0.17,
    add_cycles=5300,
    partial_cycles=0.24,
    split_step_overhead=0.11,
)


def layout(form):
    """The `persistent.Layout` of a form: both operands lie across k."""
    transposed = {"nn": ("a",), "tn": (), "nt": ("a", "b")}[form]
    return persistent.Layout("_packed", swapped=False, x_along_k=False, y_along_k=False, transposed=transposed)


def geometry(sizes, bm, bn, wm, wn, stages, blocks):
    """The largest grid, a block per tile; block; and bytes of dynamic shared memory."""
    threads = 32 * (bm // wm) * (bn // wn) + PRODUCER_THREADS
    return (ceil(sizes["m"] / bm) * ceil(sizes["n"] / bn),), (threads,), persistent.shared_bytes(bm, bn, stages)


def product(form, tilings=TILES, stream_k=True):
    """`multiply(a, b, out, c=None)` of a form; shapes as in `ladder.workloads.gemm`. Raises LadderError on other GPUs.

    All arrays are float32.
    """
    if cuda.architecture() != "sm_90":
        raise LadderError("gemm/cuda_packed requires a GPU of compute capability 9.0: use cuda_tiled.")
    variant = persistent.Variant("cuda_packed", "float32", MODEL, geometry, PRODUCER_THREADS)
    return persistent.packed_product(variant, form, layout(form), tilings, stream_k)


def setup(
    problem: Problem,
    *,
    stream_k: Literal["off", "on"] = "on",
    bm: int = 0,
    bn: int = 0,
    wm: int = 0,
    wn: int = 0,
    stages: int = 0,
    blocks: int = 0,
) -> Run:
    """The timed product with these tiles, or by default with those of TILES for the shape."""
    tilings = binaries.tiling_or(TILES, bm=bm, bn=bn, wm=wm, wn=wn, stages=stages, blocks=blocks)
    return launch.setup(problem, product(problem.sizes["form"], tilings, stream_k == "on"))
