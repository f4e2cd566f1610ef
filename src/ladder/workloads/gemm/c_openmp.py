"""Peer: the loops of `openmp` in C, compiled by `gcc -O3 -march=native -fopenmp`; the same floor, another compiler."""

import ctypes
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


def compiled(dtype):
    """The loaded library for arrays of a dtype."""
    with tempfile.TemporaryDirectory() as folder:
        library = f"{folder}/c_openmp.so"
        command = ["gcc", "-O3", "-march=native", "-fopenmp", "-shared", "-fPIC"]
        command += [f"-DDTYPE={'double' if dtype == np.float64 else 'float'}", str(SOURCE), "-o", library]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise LadderError(f"gcc can't compile {SOURCE.name}: {done.stderr.strip().splitlines()[0]}")
        return ctypes.CDLL(library)


def setup(problem, *, threads: int):
    """The timed product, on as many threads as the harness has set."""
    kernel = getattr(compiled(problem.out.dtype), problem.sizes["form"])
    arrays = [None if x is None else x.ctypes.data_as(ctypes.c_void_p) for x in problem_arrays(problem)]
    sizes = [ctypes.c_long(problem.sizes[name]) for name in "mnk"]
    return lambda: kernel(*arrays, *sizes)


def problem_arrays(problem):
    """The operands in the order in which C takes them; the addend may be None."""
    return problem.a, problem.b, problem.out, problem.c
