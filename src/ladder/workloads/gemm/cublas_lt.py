"""Peer: products by cublasLtMatmul of cuBLASLt, with the fastest of the algorithms that its heuristic proposes.

The heuristic proposes up to MAX_ALGORITHMS for the shape, the alignment of the arrays, and a workspace of
WORKSPACE_BYTES. `setup`, outside the timed call, measures them on the problem's arrays, which overwrites the
result: each algorithm runs once to load its kernels, and then RUNS times in turns with the others. The lowest median
decides. The caches are warm then. An algorithm that cuBLASLt refuses to run is skipped. Another process may choose
another algorithm, and processes that are set up at once on a GPU disturb each other's choice: a campaign sets them up
one by one with `cold_start: true`.

As in `cublas`, a row-major product is computed as its transpose. The addend needs no copy, because cublasLtMatmul
reads it where it is. For float32, `math` = tf32 uses tensor cores on operands rounded to 11 significant bits, and has
its own error bound.
"""

import statistics
from typing import Literal

from ladder import cuda
from ladder.cuda import clock, cublas_lt
from ladder.errors import LadderError
from ladder.harness.contract import Problem, Run

DEVICE = "cuda"
RUNTIME = "cuda"
PEER = True
REQUIRES = ("cupy",)
MAX_ALGORITHMS = 10
RUNS = 5  # of each algorithm
WORKSPACE_BYTES = 32 * 2**20  # what NVIDIA recommends for cuBLAS on GPUs of compute capability 9.0


def fastest(runs):
    """The function with the lowest median time on the GPU; those that raise LadderError are skipped, unless all do."""
    times, errors = {}, []
    for run in runs:
        try:
            run()
        except LadderError as error:
            errors.append(error)
        else:
            times[run] = []
    if not times:
        raise LadderError(f"None of the {len(errors)} algorithms that cuBLASLt proposes runs: {errors[0]}")
    for _ in range(RUNS):
        for run, seconds in times.items():
            seconds.append(clock.stopwatch(run))
    return min(times, key=lambda run: statistics.median(times[run]))


def setup(problem: Problem, *, math: Literal["default", "tf32"] = "default") -> Run:
    """The timed product, by the algorithm that was the fastest here."""
    form, workspace = problem.sizes["form"], cuda.empty(WORKSPACE_BYTES, "uint8")
    arrays = problem.b, problem.a, problem.c, problem.out  # of the transposed product
    return fastest(cublas_lt.products(*arrays, (form == "nt", form == "tn"), math, workspace, MAX_ALGORITHMS))
