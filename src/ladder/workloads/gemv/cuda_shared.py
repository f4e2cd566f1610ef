"""GEMV on the GPU, a thread per column of the transposed matrix, x staged block by block in shared memory.

The kernel is that of `cuda_coalesced` with x staged, as in the earlier study, whose kernel skipped the columns beyond
the last whole block. Loads of the matrix are as coalesced, and its elements far outnumber those of x, which all threads
of a warp read at one address, from a cache if not from shared memory. In exchange, a block's threads wait for every
part of x before they load the next elements of the matrix. It is bound by the bytes in flight, like `cuda_coalesced`.
"""

from ladder.harness.contract import Problem, Run
from ladder.harness.steps import Steps
from ladder.workloads.gemv import launch
from ladder.workloads.gemv.cuda_coalesced import transposition

DEVICE = "cuda"
RUNTIME = "cuda"
REQUIRES = ("cupy",)
SOURCE = "cuda_shared.cu"
KERNELS = ("cuda_coalesced",)


def setup(problem: Problem, *, block: int = 128) -> Run:
    """The transposition, and the timed product, in blocks of `block` threads and elements of x."""
    transposed, prepare = transposition(problem, block=64, tile=32)  # as `cuda_coalesced` is built by default
    return Steps([("product", launch.thread_per_row("cuda_shared", problem, transposed, block=block))], prepare)
