"""GEMM on the GPU, a thread per element of the result, with operands in global memory.

The variant is bound by the load units, neither by memory nor by the floating-point units: each FMA loads two elements,
most of which hit the L1 cache.
"""

from ladder.harness.contract import Problem, Run
from ladder.workloads.gemm import launch

DEVICE = "cuda"
RUNTIME = "cuda"
REQUIRES = ("cupy",)
SOURCE = "cuda_naive.cu"

geometry = launch.thread_per_element


def product(form, block=16):
    """`multiply(a, b, out, c=None)` of a form; shapes as in `ladder.workloads.gemm`."""
    return launch.product("cuda_naive", form, geometry, ({"block": block},))


def setup(problem: Problem, *, block: int = 16) -> Run:
    """The timed product, in blocks of `block` x `block` threads."""
    return launch.setup(problem, product(problem.sizes["form"], block))
