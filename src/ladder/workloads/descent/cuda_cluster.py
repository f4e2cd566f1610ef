"""A whole solve by one cluster of blocks, which exchange q through distributed shared memory.

Each warp has its rows of A and the vectors r and p in registers. The bottleneck is latency: a step waits for one
exchange of q within the cluster and for three reductions over a warp, two in steepest descent. The cluster uses only a
small part of the GPU.
"""

from functools import partial

import numpy as np

from ladder import cuda
from ladder.cuda.gpus import load_cupy
from ladder.errors import LadderError
from ladder.harness.contract import Problem, Run
from ladder.workloads.descent import launch

DEVICE = "cuda"
RUNTIME = "cuda"
REQUIRES = ("cupy",)
SOURCE = "cuda_cluster.cu"
LIMITS = {"algorithm": ("steepest", "cg", "jacobi"), "n": (1, 512)}
# CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED: clusters of more than 8 blocks.
NON_PORTABLE = 14


def setup(problem: Problem, *, blocks: int = 16, block: int = 256, columns: int = 16) -> Run:
    """The timed solve; a lane holds `columns` elements of each vector, so that n is at most 32 times `columns`.

    Raises LadderError if n is larger, or the GPU has no clusters.
    """
    n, dtype = problem.sizes["n"], problem.x.dtype
    if int(load_cupy().cuda.Device().compute_capability) < 90:
        raise LadderError("descent/cuda_cluster requires a GPU of compute capability 9.0 or later, which has clusters.")
    if n > 32 * columns:
        raise LadderError(f"n={n} of descent/cuda_cluster is beyond 32 x columns={columns}: raise columns.")
    kernel = cuda.kernel("descent", "cuda_cluster", "solve", dtype.name, blocks=blocks, block=block, columns=columns)
    load_cupy().cuda.driver.funcSetAttribute(kernel.kernel.ptr, NON_PORTABLE, 1)
    arguments = (*launch.problem_arrays(problem), np.int32(n), *launch.solve_parameters(problem))
    return partial(kernel, (blocks,), (block,), arguments)
