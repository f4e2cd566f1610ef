"""FLOP/s of each rung on a square product."""

from ladder.workloads.gemm.paper import rungs

TITLE = "FLOP/s of the rungs on a square product"
CATEGORY = "GEMM"
CAPTION = """\
FLOP/s of each rung on a square product in its three forms, and in brackets the share of the ceiling: the best that
the BLAS reached on the same number of threads (dashed). Medians with 95 % intervals; a hollow bar is a case whose
interval stayed wider than the target.
"""
EXPERIMENTS = ("gemm_square",)
USES_CEILINGS = True


def draw(tables, ceilings):
    """A panel per machine and shape."""
    return rungs.figure(tables["gemm_square"], ceilings, "square products")
