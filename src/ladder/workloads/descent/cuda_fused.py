"""One launch per iteration on the GPU: products and sums are fused, and nothing is copied to the host.

Each block computes r and p redundantly from the previous step's q, keeps p in shared memory, and multiplies its rows
of A. For a large system, an iteration is memory-bound: A is read once, and 3 n elements of vectors per block come from
the L2 cache. For a small system, it is bound by the latency of a launch and of its first loads. With `graph`, the
launches are one CUDA graph. With `recompute` = k, r is recomputed as b - A x in every k-th step, which reads A once
more. With a tolerance, all launches are still made, and those after the end of the solve do nothing.
"""

from functools import partial
from typing import Literal

import numpy as np

from ladder import cuda
from ladder.cuda.gpus import load_cupy
from ladder.harness.contract import Problem, Run
from ladder.harness.steps import Steps
from ladder.workloads.descent import launch

DEVICE = "cuda"
RUNTIME = "cuda"
REQUIRES = ("cupy",)
SOURCE = "cuda_fused.cu"
MACROS = ("block", "team", "rows", "unroll")
# For short and for long rows: each the fastest of several tilings on an H200.
TILES = (
    {"block": 512, "team": 32, "rows": 1, "unroll": 4},
    {"block": 1024, "team": 256, "rows": 1, "unroll": 8},
)
LIMITS = {"algorithm": ("steepest", "cg", "jacobi")}


def setup(
    problem: Problem,
    *,
    block: int = 0,
    team: int = 0,
    rows: int = 0,
    unroll: int = 0,
    recompute: int = 0,
    graph: Literal["off", "on"] = "off",
) -> Run:
    """The timed solve with this tiling or, by default, with that of TILES for n."""
    dtype = problem.x.dtype
    shares = launch.make_shares(problem, TILES, block=block, team=team, rows=rows, unroll=unroll)
    arguments = (*launch.arguments(problem, shares.blocks), np.int32(shares.staged_columns()))

    def make_launch(name, step, *options):
        kernel = cuda.kernel("descent", "cuda_fused", name, dtype.name, **shares.tiling())
        kernel.max_dynamic_shared_size_bytes = shares.staged_bytes()
        configuration = (shares.blocks,), (shares.block,), (*arguments, np.int32(step), *options)
        return partial(kernel, *configuration, shared_mem=shares.staged_bytes())

    launches = []
    for step in range(problem.sizes["iterations"] + 1):
        is_recomputed = bool(recompute and step and step % recompute == 0)
        if is_recomputed:
            launches += [make_launch("update_x", step), make_launch("recompute_residual", step)]
        launches.append(make_launch("advance_by_one", step, np.int32(is_recomputed)))

    def run():
        for kernel in launches:
            kernel()

    if graph == "off":
        return run
    return Steps([(None, run)], at_once=cuda.capture(run, load_cupy().cuda.Stream(non_blocking=True)))
