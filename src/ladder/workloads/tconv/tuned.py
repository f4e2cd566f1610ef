"""The best on the host in C: products of exact size by parity, in tiles of registers, read where the pixels lie.

The elements of one parity are sums over 4, 6 or 9 of the filter's rows, each a product of pixels by channels. `block`
images share a row of the filter while it is in the caches, and their sums stay in the second cache. The filter is
packed whenever it is written, outside the timed call, as a network's is that was loaded once. Bound by the
multiply-adds, also by those of the last vector where output channels don't fill it.
"""

import ctypes
from functools import partial
from typing import Literal

from ladder.build import libraries
from ladder.harness.steps import Steps

DEVICE = "host"
RUNTIME = "openmp"
PROGRAMS = ("gcc",)
SOURCE = "tuned.c"
MACROS = ("vector",)
LIMITS = {"block": (0, 4096), "vector": (16, 64)}
ENVIRONMENT = {"OMP_PROC_BIND": "spread", "OMP_PLACES": "cores"}
PIXELS = 64  # of a row of a block's images


def setup(
    problem,
    *,
    threads: int,
    block: int = 0,
    vector: int = 32,
    flags: Literal["O2", "O3", "unroll", "fast", "native", "all", "bounds"] = "native",
):
    """The timed convolution, and the packing before it; `block` 0 takes as many images as give a row of 64 pixels."""
    images, h, _, c = problem.image.shape
    k, dtype = len(problem.bias), problem.out.dtype.name
    block = min(images, block or max(1, PIXELS // h))
    library = libraries.load("tconv", "tuned", dtype, flags=flags, vector=vector)
    packed = problem.device.empty((size(library.packed_size, c, k),), dtype)
    sums = problem.device.empty((size(library.workspace, threads, block, h, k),), dtype)
    pack = partial(call, library.pack, (problem.filter, packed), (c, k))
    arrays = problem.image, packed, problem.bias, problem.out, sums
    run = partial(call, library.convolve, arrays, (images, h, c, k, block, threads))
    return Steps([(None, run)], prepare=[("pack", pack)])


def size(function, *counts):
    """What a function of the library says of so many numbers."""
    function.restype = ctypes.c_long
    return function(*map(ctypes.c_long, counts))


def call(function, arrays, counts):
    """Call a function of the library with arrays and whole numbers."""
    function(*(ctypes.c_void_p(array.ctypes.data) for array in arrays), *map(ctypes.c_long, counts))
