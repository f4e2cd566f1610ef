"""GEMM in TF32 on the tensor cores of compute capability 9.0, by warpgroups and persistent clusters of blocks.

A block computes tiles of `bm` x `bn` sums, a warpgroup 64 rows of them; `blocks` blocks fit on a multiprocessor. One
thread copies the operands' tiles to `stages` buffers with the Tensor Memory Accelerator (TMA), which rounds them to
TF32, and runs ahead of the warpgroups, across tiles. The blocks of a `cluster` multicast one operand's tiles to each
other. The clusters share the tiles as in `persistent`, where tiles are split along k unless `stream_k` is off.

Tensor cores require one operand contiguous along k in shared memory. In tn neither is: A is transposed ahead.
Operands whose rows aren't a multiple of 16 bytes are copied ahead, too. The variant is bound by the tensor cores,
or by the GPU's power limit; products with few terms per sum by bandwidth, and small ones by the latency of the
launches.
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
SOURCE = "cuda_wgmma.cu"
LIMITS = {"dtype": ("float32",)}
PRECISION = {"float32": "tf32"}
TILES = (
    {"bm": 128, "bn": 256, "stages": 4, "cluster": 2, "blocks": 1},
    {"bm": 128, "bn": 128, "stages": 6, "cluster": 2, "blocks": 1},
    {"bm": 128, "bn": 256, "stages": 4, "cluster": 1, "blocks": 1},
    {"bm": 128, "bn": 128, "stages": 6, "cluster": 1, "blocks": 1},
    {"bm": 128, "bn": 64, "stages": 4, "cluster": 1, "blocks": 2},
    {"bm": 64, "bn": 128, "stages": 4, "cluster": 1, "blocks": 2},
    {"bm": 64, "bn": 64, "stages": 6, "cluster": 1, "blocks": 2},
)
PRODUCER_THREADS = 128  # a block's warpgroup that copies; only its first thread uses the TMA
# Fitted to the times of 580 shapes, drawn at random, on an H200.
MODEL = persistent.Model(
    multiply_adds_per_cycle=1024,
    line_cycles=3.1,
    element_cycles=0.17,
    add_cycles=6300,
    partial_cycles=0.3,
    multicast_line_cycles=2.6,
    split_step_overhead=0.24,
)
NN = persistent.Layout("_nn", swapped=True, x_along_k=False, y_along_k=True, transposed=())
LAYOUTS = {
    "nn": NN,
    "tn": NN._replace(transposed=("a",)),
    "nt": persistent.Layout("_nt", swapped=False, x_along_k=True, y_along_k=True, transposed=()),
}


def geometry(sizes, bm, bn, stages, cluster, blocks):
    """The largest grid, a block per tile; block; and bytes of dynamic shared memory."""
    tiles = ceil(sizes["m"] / (bm * cluster)) * ceil(sizes["n"] / bn)
    threads = 2 * bm + PRODUCER_THREADS
    return (tiles * cluster,), (threads,), persistent.shared_bytes(bm, bn, stages)


def product(form, tilings=TILES, stream_k=True):
    """`multiply(a, b, out, c=None)` of a form; shapes as in `ladder.workloads.gemm`. Raises LadderError on other GPUs.

    All arrays are float32.
    """
    if cuda.architecture() != "sm_90":
        raise LadderError("gemm/cuda_wgmma requires a GPU of compute capability 9.0: use cuda_mma.")
    variant = persistent.Variant("cuda_wgmma", "tf32", MODEL, geometry, PRODUCER_THREADS)
    return persistent.packed_product(variant, form, LAYOUTS[form], tilings, stream_k)


def setup(
    problem: Problem,
    *,
    stream_k: Literal["off", "on"] = "on",
    bm: int = 0,
    bn: int = 0,
    stages: int = 0,
    cluster: int = 0,
    blocks: int = 0,
) -> Run:
    """The timed product with these tiles, or by default with those of TILES for the shape."""
    tilings = binaries.tiling_or(TILES, bm=bm, bn=bn, stages=stages, cluster=cluster, blocks=blocks)
    return launch.setup(problem, product(problem.sizes["form"], tilings, stream_k == "on"))
