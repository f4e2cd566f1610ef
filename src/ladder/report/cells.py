"""What cells of the paper's tables hold: times, shares of ceilings and speed-ups, in LaTeX."""

from ladder.report import study
from ladder.report.latex import digits, seconds
from ladder.statistics import verdicts

NONE = "--"


def median(rows):
    """The median time."""
    return seconds(rows["seconds"].median()) if len(rows) else NONE


def speedup(base, rows):
    """The speed-up over a base."""
    if base.empty or rows.empty:
        return NONE
    return digits(verdicts.speedup(study.processes(base), study.processes(rows))[0])


def rate(value, unit):
    """A rate in multiples of `unit`, 1e9 or 1e12 a second."""
    return digits(value / unit) if value else NONE
