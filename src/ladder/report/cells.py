"""What cells of the paper's tables hold: times, shares of ceilings and speed-ups, in LaTeX."""

from ladder.report import study
from ladder.report.latex import digits, percent, seconds, seconds_between
from ladder.statistics import intervals, verdicts

NONE = "--"


def median(rows):
    """The median time."""
    return seconds(rows["seconds"].median()) if len(rows) else NONE


def time_and_share(rows, ceiling):
    """Median time, and FLOP/s at it over the ceiling."""
    if rows.empty:
        return [NONE, NONE]
    middle = rows["seconds"].median()
    return [seconds(middle), percent(rows["flops"].iloc[0] / middle / ceiling) if ceiling else NONE]


def timed(rows, ceiling):
    """Median time, its 95 % interval, and FLOP/s at the median over the ceiling."""
    summary = intervals.summary(study.processes(rows))
    interval = seconds_between(summary.low, summary.high) if summary.processes > 1 else NONE
    time, share = time_and_share(rows, ceiling)
    return [time, interval, share]


def speedup(base, rows):
    """The speed-up over a base."""
    if base.empty or rows.empty:
        return NONE
    return digits(verdicts.speedup(study.processes(base), study.processes(rows))[0])


def rate(value, unit):
    """A rate in multiples of `unit`, 1e9 or 1e12 a second."""
    return digits(value / unit) if value else NONE
