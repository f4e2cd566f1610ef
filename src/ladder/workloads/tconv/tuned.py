"""The best version in C on the host: products without zeros by parity, in register tiles, with pixels read in place.

The elements of one parity are sums over 4, 6 or 9 of the filter's taps, fewer at the border; each tap is a product of
matrices, pixels by channels. `block` images share a tap of the filter while it is in the caches, and their sums stay in
the L2 cache. The filter is packed outside the timed call, as in a network that is loaded once. The variant is bound by
the multiply-adds, including those of a partly filled last vector of output channels. `vector` is the size of a vector
in bytes; `flags` are named in `ladder.build.libraries`.
"""

import ctypes
from functools import partial
from typing import Literal

from ladder.build import libraries
from ladder.harness.contract import Problem, Run
from ladder.workloads.tconv.layer import Layer, steps

DEVICE = "host"
RUNTIME = "openmp"
PROGRAMS = ("gcc",)
SOURCE = "tuned.c"
MACROS = ("vector",)
LIMITS = {"block": (0, 4096), "vector": (16, 64)}
ENVIRONMENT = {"OMP_PROC_BIND": "spread", "OMP_PLACES": "cores"}
ACTIVATIONS = ("none", "relu", "tanh")
PIXELS = 64  # by default, of a row of every image of a block in total


def layer(
    problem,
    *,
    threads: int,
    activation="none",
    block: int = 0,
    vector: int = 32,
    flags: Literal["O2", "O3", "unroll", "fast", "native", "all"] = "native",
):
    """The Layer with an activation; with `block` = 0, a block's images have rows of about PIXELS pixels in total."""
    images, h, c, k, dtype = (problem.sizes[name] for name in ("images", "h", "c", "k", "dtype"))
    block = min(images, block or max(1, PIXELS // h))
    library = libraries.load("tconv", "tuned", dtype, flags=flags, vector=vector)
    packed = problem.device.empty((size(library.packed_size, c, k),), dtype)
    sums = problem.device.empty((size(library.workspace_size, threads, block, h, k),), dtype)
    pack = partial(call, library.pack, (problem.filter, packed), (c, k))

    def run(image, out):
        counts = len(image), h, c, k, block, threads, ACTIVATIONS.index(activation)
        call(library.convolve, (image, packed, problem.bias, out, sums), counts)

    return Layer(run, (("pack", pack),))


def setup(
    problem: Problem,
    *,
    threads: int,
    block: int = 0,
    vector: int = 32,
    flags: Literal["O2", "O3", "unroll", "fast", "native", "all"] = "native",
) -> Run:
    """The timed convolution, and before it the packing."""
    return steps(problem, layer(problem, threads=threads, block=block, vector=vector, flags=flags))


def size(function, *counts):
    """The size that a function of the library returns for these counts."""
    function.restype = ctypes.c_long
    return function(*map(ctypes.c_long, counts))


def call(function, arrays, counts):
    """Call a function of the library with arrays and integers."""
    function(*(ctypes.c_void_p(array.ctypes.data) for array in arrays), *map(ctypes.c_long, counts))
