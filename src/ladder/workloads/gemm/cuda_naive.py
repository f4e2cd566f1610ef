"""GEMM on the GPU, a thread per element of the result, every operand straight from global memory.

Bound by its loads: each FMA asks for two elements, most of which the L1 cache serves, so that the load units set the
pace, not memory and not the floating-point units.
"""

from ladder.workloads.gemm import launch

DEVICE = "cuda"
RUNTIME = "cuda"
REQUIRES = ("cupy",)
SOURCE = "cuda_naive.cu"

geometry = launch.thread_per_element


def product(form, block=16):
    """`multiply(a, b, out, c=None)` of a form; shapes as in `ladder.workloads.gemm`."""
    return launch.product("cuda_naive", form, geometry, ({"block": block},))


def setup(problem, *, block: int = 16):
    """The timed product, in blocks of `block` x `block` threads."""
    return launch.setup(problem, product(problem.sizes["form"], block))
