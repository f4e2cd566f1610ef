"""One cooperative launch for a whole solve: the blocks synchronise in every step, and stop by themselves.

A stays on the chip if it fits. For a small system, a warp has its rows of A and all vectors in registers, as in
`cuda_cluster`. For a larger one, a block has its rows in shared memory, and all vectors in its threads' registers. In
either case, blocks exchange their elements of A p in each step as flagged values, and wait for nothing else: the
bottleneck is the latency of the L2 cache and of reductions over a warp or a block. If A doesn't fit, it is read from
the L2 cache or from memory in every step, after a barrier of all blocks, and the solve is memory-bound. With
`recompute` = k, r is recomputed as b - A x in every k-th step.
"""

from functools import partial

import numpy as np

from ladder import cuda
from ladder.build import binaries
from ladder.cuda.gpus import load_cupy
from ladder.errors import LadderError
from ladder.harness.contract import Problem, Run
from ladder.workloads.descent import launch

DEVICE = "cuda"
RUNTIME = "cuda"
REQUIRES = ("cupy",)
SOURCE = "cuda_persistent.cu"
MACROS = ("block", "team", "rows", "unroll", "columns")
# Those with `columns` are for A in registers and n up to 32 times `columns`, the others for short and for long rows.
# Each is the fastest of several tilings on an H200.
TILES = {
    "float32": (
        {"block": 256, "team": 32, "rows": 2, "unroll": 4, "columns": 16},
        {"block": 256, "team": 32, "rows": 2, "unroll": 4, "columns": 32},
        {"block": 512, "team": 32, "rows": 1, "unroll": 4, "columns": 0},
        {"block": 1024, "team": 256, "rows": 1, "unroll": 8, "columns": 0},
    ),
    "float64": (
        {"block": 256, "team": 32, "rows": 2, "unroll": 4, "columns": 16},
        {"block": 512, "team": 32, "rows": 1, "unroll": 4, "columns": 0},
        {"block": 1024, "team": 256, "rows": 1, "unroll": 8, "columns": 0},
    ),
}
LIMITS = {"algorithm": ("steepest", "cg", "jacobi")}
WARP = 32
# The largest n at which all vectors fit in a block's registers: its threads times `ELEMENTS_PER_THREAD` of the source.
MAX_N = {"float32": 3072, "float64": 2048}


def setup(
    problem: Problem,
    *,
    block: int = 0,
    team: int = 0,
    rows: int = 0,
    unroll: int = 0,
    columns: int = 0,
    blocks: int = 0,
    recompute: int = 0,
) -> Run:
    """The timed solve by `blocks` blocks of this tiling or, by default, by those for n.

    With `columns`, a lane holds that many elements of every vector in registers. Raises LadderError if they don't
    suffice for n, or if the GPU can't run the blocks at once.
    """
    tiling = {"block": block, "team": team, "rows": rows, "unroll": unroll, "columns": columns}
    if not any((*tiling.values(), blocks, recompute)):
        tilings = (tile for tile in TILES[problem.x.dtype.name] if problem.sizes["n"] <= WARP * tile["columns"])
        tiling = next(tilings, tiling)
    if not tiling["columns"]:
        tiling.pop("columns")
        return launch_by_shares(problem, blocks, recompute, **tiling)
    if blocks or recompute:
        raise LadderError("columns of descent/cuda_persistent go with neither blocks nor recompute: leave these at 0.")
    (tiling,) = binaries.tiling_or((), **tiling)
    return launch_in_registers(problem, **tiling)


def launch_in_registers(problem, **tiling):
    """The timed solve with A and all vectors in registers."""
    n, dtype = problem.sizes["n"], problem.x.dtype
    if n > WARP * tiling["columns"]:
        raise LadderError(
            f"n={n} of descent/cuda_persistent is beyond {WARP} x columns={tiling['columns']}: raise columns, or leave "
            "them at 0."
        )
    blocks = -(-n // (tiling["block"] // WARP * tiling["rows"]))
    leading_arguments = (
        *launch.problem_arrays(problem),
        flagged_slots(n, dtype),
        np.int32(n),
        *launch.solve_parameters(problem),
    )
    return make_launch(dtype, "solve_in_registers", blocks, tiling, (*leading_arguments, counters()))


def launch_by_shares(problem, blocks, recompute, **tiling):
    """The timed solve with a share of A's rows per block: in shared memory or, if too large, read in every step."""
    n, dtype = problem.sizes["n"], problem.x.dtype
    tiles = [{name: tile[name] for name in tiling} for tile in TILES[dtype.name][-2:]]
    shares = launch.make_shares(problem, tiles, blocks, **tiling)
    if n <= MAX_N[dtype.name] and shares.team == WARP and shares.resident_bytes() <= launch.max_shared_bytes():
        leading_arguments = (
            *launch.problem_arrays(problem),
            flagged_slots(n, dtype),
            np.int32(n),
            *launch.solve_parameters(problem),
        )
        arguments = *leading_arguments, np.int32(shares.stride), np.int32(recompute), counters()
        return make_launch(dtype, "solve_resident", shares.blocks, shares.tiling(), arguments, shares.resident_bytes())
    leading_arguments = launch.arguments(problem, shares.blocks)
    arguments = *leading_arguments, np.int32(shares.staged_columns()), np.int32(recompute), counters()
    return make_launch(dtype, "solve", shares.blocks, shares.tiling(), arguments, shares.staged_bytes())


def flagged_slots(n, dtype):
    """Two buffers for the flagged elements of a vector (see `grid.cuh`), in words of 8 bytes."""
    return load_cupy().zeros(2 * n * dtype.itemsize // 4, np.uint64)


def counters():
    """The two counters in global memory that the blocks share."""
    return load_cupy().zeros(2, np.uint32)


def make_launch(dtype, name, blocks, tiling, arguments, shared_bytes=0):
    """The cooperative launch of a kernel. Raises LadderError if the GPU can't run the blocks at once."""
    kernel = cuda.kernel("descent", "cuda_persistent", name, dtype.name, is_cooperative=True, **tiling)
    max_blocks = cuda.blocks_at_once(kernel, tiling["block"], shared_bytes)
    if blocks > max_blocks:
        raise LadderError(
            f"blocks={blocks} of descent/cuda_persistent is too large a grid for a cooperative launch: the GPU runs "
            f"{max_blocks} such blocks at once. Ask for fewer, or for none."
        )
    return partial(kernel, (blocks,), (tiling["block"],), arguments, shared_mem=shared_bytes)
