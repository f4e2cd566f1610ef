"""Peer: a hand-written iteration in NumPy, its product by NumPy's BLAS; bound by reading A."""

import numpy as np

from ladder.harness.contract import Problem, Run
from ladder.workloads.descent import loop

DEVICE = "host"
RUNTIME = "blas"
PEER = True
LIMITS = {"algorithm": ("steepest", "cg", "jacobi")}


def setup(problem: Problem, *, threads: int) -> Run:
    """The timed solve, on the threads that the harness has set."""
    return lambda: loop.solve(np, lambda v: problem.matrix @ v, problem)
