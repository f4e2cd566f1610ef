"""Speed-up of a matrix-vector product by the number of threads, bound to cores and not."""

from ladder.report.figures import by_threads
from ladder.workloads.gemv.paper import problem

TITLE = "Speed-up of matrix-vector products by threads"
CATEGORY = "GEMV"
CAPTION = """\
Speed-up of a matrix-vector product by the number of threads, each method against its own time on one thread, which
stands in the panel in the method's colour. Ratios of medians with 95 % intervals; the line is the ideal.
"""
EXPERIMENTS = ("gemv_threads",)


def draw(tables):
    """A panel per machine and matrix."""
    return by_threads.speedups(tables["gemv_threads"], "matrix-vector products", problem.title)
