"""GEMV in C with the schedules of OpenMP that Numba can't express: static, dynamic and guided.

`dynamic` assigns rows one by one and `guided` in shrinking blocks. Both balance cores of unequal speed at the cost of a
shared counter. Each row is one vectorised sum. The variant is memory-bound.
"""

import ctypes
from typing import Literal

from ladder.build import libraries
from ladder.harness.contract import Problem, Run

DEVICE = "host"
RUNTIME = "openmp"
PROGRAMS = ("gcc",)
SOURCE = "c_openmp.c"
ENVIRONMENT = {"OMP_SCHEDULE": "{schedule}"}


def setup(problem: Problem, *, threads: int, schedule: Literal["static", "dynamic", "guided"]) -> Run:
    """The timed product, on the threads and with the schedule that the harness has set."""
    multiply = libraries.load("gemv", "c_openmp", problem.y.dtype.name).gemv
    pointers = [ctypes.c_void_p(array.ctypes.data) for array in (problem.matrix, problem.x, problem.y)]
    counts = map(ctypes.c_long, problem.matrix.shape)
    arguments = *pointers, *counts
    return lambda: multiply(*arguments)
