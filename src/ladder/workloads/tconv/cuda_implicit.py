"""The transposed convolution on the GPU without tensor cores as an implicit GEMM: the gathered matrix isn't stored.

A block computes `bm` images by `bn` columns, in steps of `bk` channels, and a thread `tm` x `tn` of them. The columns
are the output channels of `parities` neighbouring elements of the result, 1, 2 or 4. Of one element, only pairs of
pixels and taps that exist are multiplied, so no FLOP is wasted. For few output channels, as in a picture, there are
four elements, those around a pixel; 25 in 36 multiply-adds are then needed.
`parities` = 2, for two elements side by side, suits tensor cores. The variant is compute-bound.
"""

from functools import cache, partial

import numpy as np

from ladder import cuda
from ladder.build import binaries
from ladder.harness.contract import Problem, Run
from ladder.workloads.tconv import implicit
from ladder.workloads.tconv.layer import Layer, steps

DEVICE = "cuda"
RUNTIME = "cuda"
REQUIRES = ("cupy",)
SOURCE = "cuda_implicit.cu"
ACTIVATIONS = ("none", "relu", "tanh")
# For large results, for few images, and for pictures; each was the fastest in its range on an H200.
TILES = {
    "float64": (
        {"bm": 64, "bn": 64, "bk": 16, "tm": 8, "tn": 8, "parities": 1},
        {"bm": 32, "bn": 32, "bk": 16, "tm": 4, "tn": 4, "parities": 1},
        {"bm": 64, "bn": 12, "bk": 16, "tm": 4, "tn": 4, "parities": 4},
    ),
    "float32": (
        {"bm": 128, "bn": 64, "bk": 16, "tm": 8, "tn": 8, "parities": 1},
        {"bm": 32, "bn": 64, "bk": 16, "tm": 4, "tn": 4, "parities": 1},
        {"bm": 256, "bn": 12, "bk": 16, "tm": 8, "tn": 4, "parities": 4},
        {"bm": 64, "bn": 12, "bk": 16, "tm": 4, "tn": 4, "parities": 4},
    ),
}


def geometry(sizes, bm, bn, bk, tm, tn, parities):
    """Grid, block, and bytes of dynamic shared memory."""
    return implicit.grid(sizes, bm, bn, parities), (bm // tm * (bn // tn),), 0


def layer(
    problem,
    *,
    activation="none",
    bm: int = 0,
    bn: int = 0,
    bk: int = 0,
    tm: int = 0,
    tn: int = 0,
    parities: int = 0,
):
    """The Layer with these tiles or, by default, with those of TILES for the number of images."""
    sizes = problem.sizes
    tilings = binaries.tiling_or(TILES, bm=bm, bn=bn, bk=bk, tm=tm, tn=tn, parities=parities)
    tilings = tilings[sizes["dtype"]] if isinstance(tilings, dict) else tilings
    h, c, k = (sizes[name] for name in ("h", "c", "k"))
    parities = implicit.fastest_tiling(tilings, sizes)["parities"]
    packed = problem.device.empty((implicit.packed_rows(parities), c, parities * k), sizes["dtype"])
    pack = partial(implicit.pack, problem.filter, packed.swapaxes(1, 2), parities)

    @cache
    def launcher(images):
        tiling = implicit.fastest_tiling(
            [tiling for tiling in tilings if tiling["parities"] == parities], sizes | {"images": images}
        )
        kernel = cuda.kernel("tconv", "cuda_implicit", "convolve", sizes["dtype"], **tiling)
        grid, block, _ = geometry(sizes | {"images": images}, **tiling)
        return lambda *arguments: kernel(grid, block, arguments)

    def run(image, out):
        scalars = map(np.int32, (len(image), h, c, k, ACTIVATIONS.index(activation)))
        launcher(len(image))(image, packed, problem.bias, out, *scalars)

    return Layer(run, (("pack", pack),))


def setup(
    problem: Problem, *, bm: int = 0, bn: int = 0, bk: int = 0, tm: int = 0, tn: int = 0, parities: int = 0
) -> Run:
    """The timed convolution, and before it the packing of the filter."""
    return steps(problem, layer(problem, bm=bm, bn=bn, bk=bk, tm=tm, tn=tn, parities=parities))
