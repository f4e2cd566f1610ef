"""One cooperative launch for a whole solve: the blocks wait for each other in every step, and stop by themselves.

Where A fits the shared memory of the card, a block keeps its rows there, and every block all vectors in registers: in
a step blocks send each other their elements of A p, and each waits for these alone. That is bound by their way through
the L2 cache, two sums over a block, and the reading of a block's rows from shared memory. Else A comes from the L2
cache or from memory in every step, behind a barrier of all blocks; it is then bound by bandwidth. With `recompute` r is
b - A x at every so many steps.
"""

from functools import partial

import numpy as np

from ladder.devices import cuda
from ladder.devices.card import load_cupy
from ladder.errors import LadderError
from ladder.workloads.descent import launch

DEVICE = "cuda"
RUNTIME = "cuda"
REQUIRES = ("cupy",)
SOURCE = "cuda_persistent.cu"
MACROS = ("block", "team", "rows", "unroll")
# For rows of a few accesses and for long ones, the fastest of some that were tried on an H200.
TILES = (
    {"block": 512, "team": 32, "rows": 1, "unroll": 4},
    {"block": 1024, "team": 256, "rows": 1, "unroll": 8},
)
LIMITS = {"algorithm": ("steepest", "cg", "jacobi")}
# Beyond this a block's threads have no registers for all vectors; `MOST` of the source times a block's threads.
MOST = {"float32": 3072, "float64": 2048}


def setup(
    problem,
    *,
    block: int = 0,
    team: int = 0,
    rows: int = 0,
    unroll: int = 0,
    blocks: int = 0,
    recompute: int = 0,
):
    """The timed solve by `blocks` blocks of this tiling, or, where none are named, by those that suit n.

    Raises LadderError where the card can't run so many blocks at once.
    """
    n, dtype = problem.sizes["n"], problem.x.dtype
    shares = launch.shares_of(problem, TILES, blocks, block=block, team=team, rows=rows, unroll=unroll)
    is_resident = n <= MOST[dtype.name] and shares.team == 32 and shares.resident() <= launch.shared_memory()
    shared = shares.resident() if is_resident else shares.staged()
    name = "solve_resident" if is_resident else "solve"
    kernel = cuda.kernel("descent", "cuda_persistent", name, dtype.name, is_cooperative=True, **shares.tiling())
    most = cuda.blocks_at_once(kernel, shares.block, shared)
    if shares.blocks > most:
        raise LadderError(
            f"blocks={shares.blocks} of descent/cuda_persistent is too large a grid for a cooperative launch: the card "
            f"runs {most} such blocks at once. Ask for fewer, or for none."
        )
    cupy = load_cupy()
    counts = cupy.zeros(2, np.uint32)
    if is_resident:
        mail = cupy.zeros(2 * n * dtype.itemsize // 4, np.uint64)
        size = np.int32(shares.stride), np.int32(recompute)
        arguments = (*launch.outer(problem), mail, np.int32(n), *launch.limits(problem), *size, counts)
    else:
        size = np.int32(shares.columns()), np.int32(recompute)
        arguments = (*launch.arguments(problem, shares.blocks), *size, counts)
    return partial(kernel, (shares.blocks,), (shares.block,), arguments, shared_mem=shared)
