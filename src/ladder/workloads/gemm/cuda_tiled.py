"""GEMM on the GPU's ordinary floating-point units: tiles in shared memory, smaller tiles of them in registers.

A block works on `bm` x `bn` elements of the result in steps of `bk`, a thread on `tm` x `tn` of them, so that an
element that is read from shared memory serves `tm` or `tn` FMAs. Bound by the floating-point units once the tiles are
large enough. With `splitk` > 1, a cluster of so many blocks shares the sums of one tile, for results of few tiles and
long sums.
"""

from functools import partial

from ladder.workloads.gemm import launch

DEVICE = "cuda"
RUNTIME = "cuda"
REQUIRES = ("cupy",)
SOURCE = "cuda_tiled.cu"


def geometry(m, n, itemsize, bm, bn, bk, tm, tn, splitk):
    """Grid, block, and bytes of dynamic shared memory."""
    return (-(-n // bn), -(-m // bm), splitk), (bm // tm * (bn // tn),), 0


def product(form, bm=128, bn=128, bk=8, tm=8, tn=8, splitk=1):
    """`multiply(a, b, out, c=None)` of a form; shapes as in `ladder.workloads.gemm`."""
    tiles = {"bm": bm, "bn": bn, "bk": bk, "tm": tm, "tn": tn, "splitk": splitk}
    return launch.product("cuda_tiled", form, partial(geometry, **tiles), **tiles)


def setup(problem, *, bm: int = 128, bn: int = 128, bk: int = 8, tm: int = 8, tn: int = 8, splitk: int = 1):
    """The timed product with these tiles."""
    return launch.setup(problem, product(problem.sizes["form"], bm, bn, bk, tm, tn, splitk))
