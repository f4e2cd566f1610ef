"""FLOP/s of each rung on a square product."""

from ladder.report.figures import rungs

TITLE = "FLOP/s of the rungs on a square product"
CATEGORY = "GEMM"
EXPERIMENTS = ("gemm_square",)
USES_CEILINGS = True


def draw(tables, ceilings):
    """A panel per machine and shape."""
    return rungs.figure(tables["gemm_square"], ceilings, "square products")
