"""Time of a matrix-vector product by the number of threads, bound to cores and not."""

from ladder.report.figures import by_threads, medians

TITLE = "Time of matrix-vector products by threads"
CATEGORY = "GEMV"
EXPERIMENTS = ("gemv_threads",)


def draw(tables):
    """A panel per machine and matrix."""
    return by_threads.times(tables["gemv_threads"], "matrix-vector products", medians.vector_product, "time")
