"""Shares, and times with their intervals, as rankings and verdicts print them in a terminal."""

from ladder.quantities import PREFIXES, TIME_PREFIXES, digits, scale_of, seconds

NONE, UNKNOWN = "–", "unknown"
# Intervals whose upper end is at least this multiple of the lower, such as those of two processes, aren't printed.
MAX_TERMINAL_SPAN = 10


def is_narrow(ratio):
    """Whether the interval of a Ratio is narrow enough to be printed."""
    return ratio.low > 0 and ratio.high < MAX_TERMINAL_SPAN * ratio.low


def seconds_with_interval(ratio):
    """A time, given as a Ratio in seconds, and its interval in the same unit, or UNKNOWN."""
    if not is_narrow(ratio):
        return f"{seconds(ratio.value)} [{UNKNOWN}]"
    scale = scale_of(ratio.value, TIME_PREFIXES)
    value, low, high = (digits(number / scale) for number in (ratio.value, ratio.low, ratio.high))
    return f"{value} {PREFIXES[scale]}s [{low}, {high}]"


def percent(share):
    """A share in per cent with two digits; NONE without one."""
    return NONE if share is None else f"{digits(100 * share, 2)} %"
