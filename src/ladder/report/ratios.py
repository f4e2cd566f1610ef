"""Ratios as text: `2.1 × [1.9, 2.3]`, with as many decimals as tell the ends of the interval apart."""

import math

from ladder.report import study
from ladder.report.phrases import Missing, bounded
from ladder.statistics import claims
from ladder.statistics.verdicts import THRESHOLD

DIGITS, MORE = 2, 2  # of a ratio, and how many more its interval may ask for
NARROW = 1.02  # an interval of ratios that prose leaves out


def of(rows, other):
    """The time of a case over that of another, or None where one of them wasn't measured."""
    return claims.quotient(*map(study.processes, (rows, other))) if len(rows) and len(other) else None


def of_parts(rows, other):
    """The time of some phases over that of others of the same passes, or None without either."""
    if rows.empty or other.empty:
        return None
    summed = (part.groupby(["process", "sample"])["seconds"].sum() for part in (rows, other))
    return claims.quotient(*([list(one) for _, one in times.groupby("process")] for times in summed))


def parts(ratio):
    """A ratio and the ends of its interval as text; no ends where there is no interval, or next to none."""
    decimals = DIGITS - 1 - math.floor(math.log10(ratio.value))
    if not bounded(ratio.low, ratio.high):
        return rounded(ratio.value, decimals), None
    for more in range(MORE + 1):
        value, low, high = (rounded(one, decimals + more) for one in (ratio.value, ratio.low, ratio.high))
        if low != high:
            return value, (low, high)
    return rounded(ratio.value, decimals), None


def rounded(value, decimals):
    """A number with so many decimals, which may be below 0."""
    return f"{round(value, decimals):.{max(decimals, 0)}f}"


def plain(ratio):
    """A ratio as figures write it."""
    value, ends = parts(ratio)
    return f"{value} × [{ends[0]}, {ends[1]}]" if ends else f"{value} ×"


def latex(ratio):
    """A ratio as tables write it."""
    value, ends = parts(ratio)
    return times(value) + (f" [\\num{{{ends[0]}}}, \\num{{{ends[1]}}}]" if ends else "")


def times(value):
    """A number in text as a ratio."""
    return f"\\num{{{value}}}\\,$\\times$"


def prose(ratio):
    """A ratio as sentences write it, with no interval that is narrow; None stays None."""
    if ratio is None:
        return None
    decimals = DIGITS - 1 - math.floor(math.log10(ratio.value))
    return times(rounded(ratio.value, decimals)) if ratio.high <= NARROW * ratio.low else latex(ratio)


def compared(ratio, name):
    """What another's time over a case's says of the case, as the predicate of a sentence; by THRESHOLD of verdicts."""
    if ratio is None:
        return Missing(f"was not compared with {name}")
    if ratio.low > 1 + THRESHOLD:
        return f"is {prose(ratio)} as fast as {name}"
    if ratio.high < 1 / (1 + THRESHOLD):
        return f"takes {prose(ratio.inverse())} as long as {name}"
    return f"can't be told apart from {name} ({latex(ratio)})"
