"""Bytes that a matrix-vector product must move, over its time, beside what the machine reaches when it only reads."""

from ladder.report.figures import by_threads, medians

TITLE = "Bandwidth of matrix-vector products by threads"
CATEGORY = "GEMV"
EXPERIMENTS = ("gemv_threads",)
USES_CEILINGS = True


def draw(tables, ceilings):
    """A panel per machine and matrix."""
    return by_threads.bandwidths(tables["gemv_threads"], ceilings, "matrix-vector products", medians.vector_product)
