"""GEMM on the GPU with square tiles of both operands in shared memory, a thread per element of the result.

An element is loaded from global memory once per `block` rows or columns of the result. The variant is bound by shared
memory: each FMA still loads two elements from it.
"""

from ladder.harness.contract import Problem, Run
from ladder.workloads.gemm import launch

DEVICE = "cuda"
RUNTIME = "cuda"
REQUIRES = ("cupy",)
SOURCE = "cuda_shared.cu"

geometry = launch.thread_per_element


def product(form, block=16):
    """`multiply(a, b, out, c=None)` of a form; shapes as in `ladder.workloads.gemm`."""
    return launch.product("cuda_shared", form, geometry, ({"block": block},))


def setup(problem: Problem, *, block: int = 16) -> Run:
    """The timed product, in blocks of `block` x `block` threads."""
    return launch.setup(problem, product(problem.sizes["form"], block))
