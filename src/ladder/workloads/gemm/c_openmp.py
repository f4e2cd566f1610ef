"""Peer: the loops of `openmp` in C, compiled by gcc with `flags`, which are named in `ladder.build.libraries`.

The bottleneck is that of `openmp`, except with `fast` and `all`, which let the compiler reorder sums.
"""

import ctypes
from typing import Literal

from ladder.build import libraries
from ladder.harness.contract import Problem, Run

DEVICE = "host"
RUNTIME = "openmp"
PEER = True
PROGRAMS = ("gcc",)
SOURCE = "c_openmp.c"


def product(form, flags="native"):
    """`multiply(a, b, out, c=None)` of a form, where only nt adds c; shapes as in `ladder.workloads.gemm`."""

    def multiply(a, b, out, c=None):
        kernel = getattr(libraries.load("gemm", "c_openmp", out.dtype.name, flags=flags), form)
        pointers = [None if x is None else ctypes.c_void_p(x.ctypes.data) for x in (a, b, out, c)]
        sizes = (*out.shape, a.shape[0 if form == "tn" else 1])
        kernel(*pointers, *map(ctypes.c_long, sizes))

    return multiply


def setup(
    problem: Problem,
    *,
    threads: int,
    flags: Literal["O2", "O3", "unroll", "fast", "native", "all"] = "native",
) -> Run:
    """The timed product, on the threads that the harness has set."""
    libraries.load("gemm", "c_openmp", problem.out.dtype.name, flags=flags)  # before the timed call
    multiply = product(problem.sizes["form"], flags)
    return lambda: multiply(problem.a, problem.b, problem.out, problem.c)
