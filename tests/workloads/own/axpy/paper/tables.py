"""The chapter's table."""

from ladder.report import latex
from ladder.report.study import best_rate, values, where


def tables(found):
    """The best rate of every variant."""
    frame = found.samples("axpy_threads")
    rates = {variant: best_rate(where(frame, variant=variant), "bytes") for variant in values(frame, "variant")}
    return {
        "rates": latex.table(
            "lr",
            ["Variant", "best"],
            [[latex.code(name), latex.rate(best, "bandwidth")] for name, best in rates.items()],
        )
    }
