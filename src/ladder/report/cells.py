"""Cells of the paper's tables in LaTeX: times, rates, shares and ratios; NONE without a measurement."""

from ladder.quantities import digits
from ladder.report import ratios
from ladder.report.latex import percent, seconds
from ladder.store import study

NONE = "--"


def median(rows, digit_count=3):
    """The median time, with `digit_count` digits."""
    return seconds(study.median_time(rows), digit_count) if len(rows) else NONE


def rate(value, unit):
    """A rate per second in multiples of `unit`, 1e9 or 1e12."""
    return digits(value / unit) if value else NONE


def flops(rows, unit):
    """FLOP/s of a case in multiples of `unit`."""
    return rate(achieved_flops(rows), unit)


def share(rows, ceiling, digit_count=3):
    """FLOP/s of a case over a ceiling in per cent, with `digit_count` digits."""
    return percent(achieved_flops(rows) / ceiling, digit_count) if len(rows) and ceiling else NONE


def achieved_flops(rows):
    """FLOP/s of a case, or None."""
    return float(rows["flops"].iloc[0]) / study.median_time(rows) if len(rows) else None


def speedup(rows, other):
    """The time of a case over that of another, with its interval."""
    ratio = ratios.of(rows, other)
    return ratios.latex(ratio) if ratio else NONE
