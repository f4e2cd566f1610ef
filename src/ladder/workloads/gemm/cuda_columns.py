"""GEMM on the GPU with a column of a tile per thread; its sums and an element of B are in registers.

A block computes `bm` x `bn` elements of the result in steps of `bk`, with `bn` threads. Only A is in shared memory: an
element of B is loaded from global memory to a register, and multiplied by `bm` elements of A that are the same for all
threads. The variant is bound by shared memory: each FMA still loads one element from it, instead of two in
`cuda_shared`.
"""

from ladder.harness.contract import Problem, Run
from ladder.workloads.gemm import launch

DEVICE = "cuda"
RUNTIME = "cuda"
REQUIRES = ("cupy",)
SOURCE = "cuda_columns.cu"


def geometry(sizes, bm, bn, bk):
    """Grid, block, and bytes of dynamic shared memory."""
    return launch.grid(sizes, bm, bn), (bn,), 0


def product(form, bm=16, bn=64, bk=16):
    """`multiply(a, b, out, c=None)` of a form; shapes as in `ladder.workloads.gemm`."""
    return launch.product("cuda_columns", form, geometry, ({"bm": bm, "bn": bn, "bk": bk},))


def setup(problem: Problem, *, bm: int = 16, bn: int = 64, bk: int = 16) -> Run:
    """The timed product, by blocks of `bm` x `bn` elements in steps of `bk`."""
    return launch.setup(problem, product(problem.sizes["form"], bm, bn, bk))
