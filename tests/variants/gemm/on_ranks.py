"""A product over ranks of MPI, of which one may do wrong: by `fault`, in the last rank."""

import os
import signal

import numpy as np

from ladder.harness.steps import Steps

DEVICE = "mpi"
RUNTIME = "blas"
REQUIRES = ("mpi4py",)


def setup(problem, *, ranks: int, fault: str = "none", threads: int):
    """Every rank multiplies the rows that it is sent."""
    from mpi4py import MPI

    world = MPI.COMM_WORLD
    np.ones((2, 2)) @ np.ones((2, 2))
    mine, calls = {}, iter(range(2**62))

    def distribute():
        rows = np.array_split(problem.a, ranks) if world.rank == 0 else None
        mine["a"], mine["b"] = world.scatter(rows), world.bcast(problem.b)

    def product():
        call = next(calls)
        if world.rank == ranks - 1 and fault != "none" and call == 1:
            faults[fault]()
        mine["out"] = mine["a"] @ mine["b"]

    def collect():
        parts = world.gather(mine["out"])
        if world.rank == 0:
            np.concatenate(parts, out=problem.out)

    return Steps(run=[("product", product), ("gather", collect)], prepare=[("distribute", distribute)])


def stop():
    raise ValueError("something is wrong here")


faults = {
    "raises": stop,
    "ends": lambda: os._exit(0),
    "leaves": lambda: exit(0),
    "killed": lambda: os.kill(os.getpid(), signal.SIGKILL),
}
