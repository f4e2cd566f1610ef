"""Peer: a hand-written iteration in CuPy, its product by cuBLAS; small systems are bound by launches."""

from ladder.cuda.gpus import load_cupy
from ladder.harness.contract import Problem, Run
from ladder.workloads.descent import loop

DEVICE = "cuda"
RUNTIME = "cuda"
PEER = True
REQUIRES = ("cupy",)
LIMITS = {"algorithm": ("steepest", "cg", "jacobi")}


def setup(problem: Problem) -> Run:
    """The timed solve."""
    cupy = load_cupy()
    return lambda: loop.solve(cupy, lambda v: problem.matrix @ v, problem)
