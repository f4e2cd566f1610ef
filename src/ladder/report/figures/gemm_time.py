"""Time of each of the training's three products by the number of threads."""

from ladder.report.figures import by_threads, medians

TITLE = "Time of the products by threads"
CATEGORY = "GEMM"
EXPERIMENTS = ("gemm_threads",)


def draw(tables):
    """A panel per machine and product."""
    return by_threads.times(tables["gemm_threads"], "matrix products", medians.product, "time")
