"""MLP training as in `cuda_fused`, with the products of images on tensor cores, in full precision.

Pixels are bytes. In float64, products use the FP64 instructions of tensor cores, at twice the rate of other
multiply-adds. In float32 they use bfloat16. Its eight significant bits hold a pixel exactly, and every float32 number
is the sum of three bfloat16 numbers. So three products, at 15 times the rate on an H200, have the precision of one in
float32: only sums are rounded. Henry, Tang and Heinecke split operands in this way ("Leveraging the bfloat16
Artificial Intelligence Datatype for Higher-Precision Computations", ARITH 2019).

A batch takes as many kernels as in `cuda_fused`. Large tiles suit large batches: with 64 x 40 elements, the products
of a batch of 1000 have 128 and 104 tiles for the 132 multiprocessors of an H200. The floor of a batch is the latency of
its dependent kernels plus the products at the tensor cores' rate: for 784-300-10 and a batch of 1000, 14 microseconds
in float64 and 3 in float32 on an H200.
"""

from typing import Literal

from ladder.build import binaries
from ladder.harness.contract import Problem, Run
from ladder.workloads.mlp import cuda_fused
from ladder.workloads.mlp.cuda_fused import STAGES, THREADS, UPDATE_TILE, Kernels, Tile

DEVICE = "cuda"
RUNTIME = "cuda"
REQUIRES = ("cupy",)
SOURCE = "cuda_fused_mma.cu"
TILES = ({"bm": 64, "bn": 40}, {"bm": 32, "bn": 24})  # of several that are equally good, the first is the choice
WARP, WARP_ROWS = 32, 32  # as in the source


def setup(problem: Problem, *, bm: int = 0, bn: int = 0, graph: Literal["off", "on"] = "on") -> Run:
    """One epoch: the graph of its steps, or the steps by phase.

    Products of images are computed by tiles of `bm` x `bn` elements, `bm` being 32 or 64 and `bn` a multiple of 8; by
    default, each has the better of TILES.
    """
    tilings = binaries.tiling_or(TILES, bm=bm, bn=bn)
    tiles = [Tile((constants["bm"], constants["bn"]), constants) for constants in tilings]
    further_tile = Tile((UPDATE_TILE, UPDATE_TILE), tilings[0])
    return cuda_fused.run(problem, Kernels("cuda_fused_mma", tiles, [further_tile], tiles, shared_memory), graph)


def shared_memory(shape, itemsize):
    """The bytes of a block's dynamic shared memory: MEMORY_BYTES of the source for products of images."""
    if shape[0] == shape[1]:
        return cuda_fused.square_memory(shape, itemsize)
    rows, columns = shape
    is_double = itemsize == 8
    depth = THREADS // WARP * WARP_ROWS // rows * (8 if is_double else 16)
    left = depth * (rows + 4) if is_double else max(depth * (rows + 8), rows * (depth + 8))
    return STAGES * (depth * (columns + 4) * itemsize + rows * depth) + 2 * left * (8 if is_double else 2)
