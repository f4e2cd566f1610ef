"""GEMM on the GPU's tensor cores: FP64 MMA for float64; for float32 TF32, which rounds operands to 11 bits.

A block works on `bm` x `bn` elements of the result in steps of `bk`, a warp on `wm` x `wn` of them; `stages` tiles are
on their way or in use. Bound by the tensor cores, and by shared memory where warps are small. With `splitk` > 1, a
cluster of so many blocks shares the sums of one tile, for results of few tiles and long sums.
"""

from functools import partial

from ladder.workloads.gemm import launch

DEVICE = "cuda"
RUNTIME = "cuda"
REQUIRES = ("cupy",)
SOURCE = "cuda_mma.cu"
PRECISION = {"float32": "tf32"}


def geometry(m, n, itemsize, bm, bn, bk, wm, wn, stages, splitk):
    """Grid, block, and bytes of dynamic shared memory: the tiles, whose place a cluster's sums take in the end."""
    elements = max(stages * (bm + bn) * bk, bm * bn if splitk > 1 else 0)
    return (-(-n // bn), -(-m // bm), splitk), (32 * (bm // wm) * (bn // wn),), itemsize * elements


def product(form, bm=128, bn=128, bk=32, wm=64, wn=32, stages=2, splitk=1):
    """`multiply(a, b, out, c=None)` of a form; shapes as in `ladder.workloads.gemm`."""
    tiles = {"bm": bm, "bn": bn, "bk": bk, "wm": wm, "wn": wn, "stages": stages, "splitk": splitk}
    return launch.product("cuda_mma", form, partial(geometry, **tiles), **tiles)


def setup(
    problem,
    *,
    bm: int = 128,
    bn: int = 128,
    bk: int = 32,
    wm: int = 64,
    wn: int = 32,
    stages: int = 2,
    splitk: int = 1,
):
    """The timed product with these tiles."""
    return launch.setup(problem, product(problem.sizes["form"], bm, bn, bk, wm, wn, stages, splitk))
