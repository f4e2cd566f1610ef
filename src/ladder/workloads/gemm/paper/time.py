"""Time of each of the training's three products by the number of threads."""

from ladder.report.figures import by_threads
from ladder.workloads.gemm.paper import problem

TITLE = "Time of the products by threads"
CATEGORY = "GEMM"
CAPTION = """\
Time of the training's three matrix products by the number of threads: `nn` forward, `tn` weight gradient, `nt`
back-propagated delta. Medians with 95 % intervals over fresh processes; a hollow marker is a case whose interval
stayed wider than the target. Caches are cold unless stated.
"""
EXPERIMENTS = ("gemm_threads",)


def draw(tables):
    """A panel per machine and product."""
    return by_threads.times(tables["gemm_threads"], "matrix products", problem.title, "time")
