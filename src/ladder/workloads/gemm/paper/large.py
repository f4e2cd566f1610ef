"""FLOP/s of the faster rungs on larger and larger products."""

from ladder.workloads.gemm.paper import rungs

TITLE = "FLOP/s of the rungs on larger products"
CATEGORY = "GEMM"
CAPTION = """\
FLOP/s of the faster rungs on larger and larger products, and in brackets the share of the ceiling: the best that the
BLAS reached on the same number of threads (dashed). Medians with 95 % intervals; a hollow bar is a case whose
interval stayed wider than the target.
"""
EXPERIMENTS = ("gemm_large",)
USES_CEILINGS = True


def draw(tables, ceilings):
    """A panel per machine and shape."""
    return rungs.figure(tables["gemm_large"], ceilings, "large products")
