"""Peer: the loops of `openmp` in C, compiled by `gcc -O3 -march=native -fopenmp`; the same floor, another compiler."""

import ctypes
import functools
import subprocess
import tempfile
from pathlib import Path

import numpy as np

from ladder.errors import LadderError

DEVICE = "host"
RUNTIME = "openmp"
PEER = True
PROGRAMS = ("gcc",)
SOURCE = Path(__file__).with_suffix(".c")


@functools.cache
def compiled(dtype):
    """The loaded library for arrays of a dtype. Raises LadderError when gcc fails."""
    with tempfile.TemporaryDirectory() as folder:
        library = f"{folder}/c_openmp.so"
        command = ["gcc", "-O3", "-march=native", "-fopenmp", "-shared", "-fPIC"]
        command += [f"-DDTYPE={'double' if dtype == np.float64 else 'float'}", str(SOURCE), "-o", library]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise LadderError(f"gcc can't compile {SOURCE.name}: {done.stderr.strip().splitlines()[0]}")
        return ctypes.CDLL(library)


def product(form):
    """`multiply(a, b, out, c=None)` of a form; shapes as in `ladder.workloads.gemm`. Compiled at its first call."""

    def multiply(a, b, out, c=None):
        kernel = getattr(compiled(out.dtype), form)
        pointers = [None if x is None else ctypes.c_void_p(x.ctypes.data) for x in (a, b, out, c)]
        sizes = (*out.shape, a.shape[0 if form == "tn" else 1])
        kernel(*pointers, *map(ctypes.c_long, sizes))

    return multiply


def setup(problem, *, threads: int):
    """The timed product, on the threads that the harness has set."""
    compiled(problem.out.dtype)
    multiply = product(problem.sizes["form"])
    return lambda: multiply(problem.a, problem.b, problem.out, problem.c)
