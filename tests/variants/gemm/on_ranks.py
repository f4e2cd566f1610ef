"""A product on MPI ranks. If `fault` is a key of FAULTS, the last rank fails in this way in its second call."""

import itertools
import os
import signal
import sys

import numpy as np

from ladder.harness.steps import Steps

DEVICE = "mpi"
RUNTIME = "blas"
REQUIRES = ("mpi4py",)


def setup(problem, *, ranks: int, fault: str = "none", threads: int):
    """Every rank multiplies the rows that it is sent."""
    from mpi4py import MPI

    world = MPI.COMM_WORLD
    local, calls = {}, itertools.count()

    def distribute():
        rows = np.array_split(problem.a, ranks) if world.rank == 0 else None
        local["a"], local["b"] = world.scatter(rows), world.bcast(problem.b)

    def product():
        call = next(calls)
        if world.rank == ranks - 1 and fault != "none" and call == 1:
            FAULTS[fault]()
        local["out"] = local["a"] @ local["b"]

    def collect():
        parts = world.gather(local["out"])
        if world.rank == 0:
            np.concatenate(parts, out=problem.out)

    return Steps(run=[("product", product), ("gather", collect)], prepare=[("distribute", distribute)])


def raise_error():
    raise ValueError("something is wrong here")


FAULTS = {
    "raises": raise_error,
    "os_exit": lambda: os._exit(0),
    "sys_exit": lambda: sys.exit(0),
    "killed": lambda: os.kill(os.getpid(), signal.SIGKILL),
}
