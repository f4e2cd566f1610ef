"""What cells of the paper's tables hold: times and rates, in LaTeX."""

from ladder.report import study
from ladder.report.latex import digits, seconds

NONE = "--"


def median(rows):
    """The median time."""
    return seconds(study.middle(rows)) if len(rows) else NONE


def rate(value, unit):
    """A rate in multiples of `unit`, 1e9 or 1e12 a second."""
    return digits(value / unit) if value else NONE
