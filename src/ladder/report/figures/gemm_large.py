"""FLOP/s of the faster rungs on larger and larger products."""

from ladder.report.figures import rungs

TITLE = "FLOP/s of the rungs on larger products"
CATEGORY = "GEMM"
EXPERIMENTS = ("gemm_large",)
USES_CEILINGS = True


def draw(tables, ceilings):
    """A panel per machine and shape."""
    return rungs.figure(tables["gemm_large"], ceilings, "large products")
