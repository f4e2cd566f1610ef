"""The number of the chapter's sentence."""

from ladder.report.latex import rate
from ladder.report.study import best_rate


def numbers(found):
    """The best rate at which the sums moved their bytes."""
    best = best_rate(found.samples("axpy_threads"), "bytes")
    return {"axpy/best": rate(best, "bandwidth") if best else None}
