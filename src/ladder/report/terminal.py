"""What rankings and verdicts print in a terminal: shares and ratios, beside quantities and tables."""

from ladder.quantities import PREFIXES, SMALL, digits, rate, scale_of, seconds
from ladder.report import ratios
from ladder.terminal import table, titled_table, wrapped

__all__ = ["NONE", "percent", "rate", "seconds", "seconds_with_interval", "table", "titled_table", "wrapped"]

NONE = "–"


def seconds_with_interval(ratio):
    """A time and its interval in the same unit; without an interval that has two ends, the time alone."""
    if not ratios.is_bounded(ratio.low, ratio.high):
        return seconds(ratio.value)
    scale = scale_of(ratio.value, SMALL)
    value, low, high = (digits(number / scale) for number in (ratio.value, ratio.low, ratio.high))
    return f"{value} {PREFIXES[scale]}s [{low}, {high}]"


def percent(share):
    """A share in per cent with two digits; NONE without one."""
    return NONE if share is None else f"{digits(100 * share, 2)} %"
