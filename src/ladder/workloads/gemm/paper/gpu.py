"""FLOP/s of each rung on a square product on a GPU, each with its fastest tuning."""

from ladder.report.figures import medians
from ladder.workloads.gemm.paper import rungs

TITLE = "FLOP/s of the rungs on a GPU"
CATEGORY = "GEMM"
CAPTION = """\
FLOP/s of each rung on a square product on one GPU, each with its fastest tuning, and in brackets the share of the
best that cuBLAS reached in the type's own precision (dashed). Dotted: what fused multiply-adds in registers reach
without tensor cores. Medians with 95 % intervals; a hollow bar is a case whose interval stayed wider than the target.
"""
EXPERIMENTS = ("gemm_gpu_float64", "gemm_gpu_float32")
USES_CEILINGS = True


def draw(tables, ceilings):
    """A panel per machine and dtype."""
    return rungs.figure(medians.joined(tables), ceilings, "products on a GPU", device="cuda")
