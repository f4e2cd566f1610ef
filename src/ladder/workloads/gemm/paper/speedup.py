"""Speed-up of each of the training's three products by the number of threads."""

from ladder.report.figures import by_threads
from ladder.workloads.gemm.paper import problem

TITLE = "Speed-up of the products by threads"
CATEGORY = "GEMM"
CAPTION = """\
Speed-up of the three matrix products by the number of threads, each method against its own time on one thread, which
stands in the panel in the method's colour. Ratios of medians with 95 % intervals; the line is the ideal.
"""
EXPERIMENTS = ("gemm_threads",)


def draw(tables):
    """A panel per machine and product."""
    return by_threads.speedups(tables["gemm_threads"], "matrix products", problem.title)
