"""Bytes that a matrix-vector product must move, over its time, beside what the machine reaches when it only reads."""

from ladder.report.figures import by_threads
from ladder.workloads.gemv.paper import problem
from ladder.workloads.stream.paper.ceilings import bandwidths

TITLE = "Bandwidth of matrix-vector products by threads"
CATEGORY = "GEMV"
CAPTION = """\
Bytes that a matrix-vector product must move, every array once, over its time, by the number of threads. The wide line
is the best at which the same number of threads only reads long arrays. Medians with 95 % intervals; a hollow marker
is a case whose interval stayed wider than the target.
"""
EXPERIMENTS = ("gemv_threads",)
USES_CEILINGS = True


def draw(tables, ceilings):
    """A panel per machine and matrix."""
    reading = {machine: bandwidths(found) for machine, found in ceilings.items()}
    return by_threads.bandwidths(
        tables["gemv_threads"], reading, "reading alone", "matrix-vector products", problem.title
    )
