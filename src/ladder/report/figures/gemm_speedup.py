"""Speed-up of each of the training's three products by the number of threads."""

from ladder.report.figures import by_threads, medians

TITLE = "Speed-up of the products by threads"
CATEGORY = "GEMM"
EXPERIMENTS = ("gemm_threads",)


def draw(tables):
    """A panel per machine and product."""
    return by_threads.speedups(tables["gemm_threads"], "matrix products", medians.product)
