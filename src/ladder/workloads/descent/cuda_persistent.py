"""One cooperative launch for a whole solve: the blocks wait for each other once a step, and stop by themselves.

A block keeps its rows of A in shared memory where all of A fits the card's; else they come from the L2 cache or from
memory in every step. A step of a small system is bound by latency: of the barrier, of the first load behind it, and of
the sums within a block. With `recompute` r is b - A x at every so many steps, which costs two more barriers.
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
    dtype = problem.x.dtype
    shares = launch.shares_of(problem, TILES, blocks, block=block, team=team, rows=rows, unroll=unroll)
    is_resident = shares.resident() <= launch.shared_memory()
    shared = shares.resident() if is_resident else shares.staged()
    kernel = cuda.kernel("descent", "cuda_persistent", "solve", dtype.name, is_cooperative=True, **shares.tiling())
    most = cuda.blocks_at_once(kernel, shares.block, shared)
    if shares.blocks > most:
        raise LadderError(
            f"blocks={shares.blocks} of descent/cuda_persistent is too large a grid for a cooperative launch: the card "
            f"runs {most} such blocks at once. Ask for fewer, or for none."
        )
    columns = shares.stride if is_resident else shares.columns()
    counts = load_cupy().zeros(2, np.uint32)
    last = np.int64(columns), np.int32(recompute), np.int32(is_resident), counts
    arguments = (*launch.arguments(problem, shares.blocks), *last)
    return partial(kernel, (shares.blocks,), (shares.block,), arguments, shared_mem=shared)
