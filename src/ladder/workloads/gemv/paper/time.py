"""Time of a matrix-vector product by the number of threads, bound to cores and not."""

from ladder.report.figures import by_threads
from ladder.workloads.gemv.paper import problem

TITLE = "Time of matrix-vector products by threads"
CATEGORY = "GEMV"
CAPTION = """\
Time of a matrix-vector product by the number of threads: in Numba's loops, in the same with every thread bound to a
core (`spread`: cores far from each other, `close`: side by side) on rows that it has touched first, and by the BLAS.
Medians with 95 % intervals over fresh processes; a hollow marker is a case whose interval stayed wider than the
target.
"""
EXPERIMENTS = ("gemv_threads",)


def draw(tables):
    """A panel per machine and matrix."""
    return by_threads.times(tables["gemv_threads"], "matrix-vector products", problem.title, "time")
