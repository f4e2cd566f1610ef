"""The size at which two costs are equal: the break-even point with its interval."""

import itertools
import math
from collections.abc import Sequence

from ladder.statistics.quotients import Ratio
from ladder.statistics.verdicts import UNDECIDED

EVERYWHERE, NOWHERE = "everywhere", "nowhere"


def break_even(points: Sequence[tuple[float, Ratio]]) -> tuple[float, float, float] | str | None:
    """The size above which one cost is below another, as (size, low, high), or a word; `points` as in `crossing`.

    If all ratios are below 1, but not all intervals, the size is the first one, and its low end 0. The word is
    EVERYWHERE if all intervals lie below 1, NOWHERE if all lie above 1, and UNDECIDED if the ratio falls below 1 at no
    size, or if no interval lies below 1, so that the cost is significantly lower at no size. None without points.
    """
    if not points:
        return None
    ratios = [ratio for _, ratio in points]
    if all(ratio.high < 1 for ratio in ratios):
        return EVERYWHERE
    if all(ratio.low > 1 for ratio in ratios):
        return NOWHERE
    if all(ratio.high >= 1 for ratio in ratios):
        return UNDECIDED
    if all(ratio.value < 1 for ratio in ratios):
        return points[0][0], 0.0, first_fall([(size, ratio.high) for size, ratio in points]) or math.inf
    return crossing(points) or UNDECIDED


def crossing(points: Sequence[tuple[float, Ratio]]) -> tuple[float, float, float] | None:
    """The size at which a ratio falls below 1, and its interval, by log-log interpolation: (size, low, high).

    `points` are (size, ratio) in ascending order of sizes. `low` and `high` are where the low and the high end of the
    ratio's interval fall below 1: 0 if the low end is below it from the first size on, inf if the high end never is.
    None if the ratio doesn't fall below 1 from one size to the next, or can't be interpolated.
    """
    value = first_fall([(size, ratio.value) for size, ratio in points])
    if value is None:
        return None
    low = first_fall([(size, ratio.low) for size, ratio in points])
    high = first_fall([(size, ratio.high) for size, ratio in points])
    return value, 0.0 if low is None else min(low, value), math.inf if high is None else max(high, value)


def first_fall(points: Sequence[tuple[float, float]]) -> float | None:
    """The first size at which a value falls below 1, interpolated between (size, value) pairs.

    None without one, or if an infinite value or a zero makes interpolation impossible.
    """
    for (size, value), (next_size, next_value) in itertools.pairwise(points):
        if value >= 1 > next_value:
            if not (next_value > 0 and value < math.inf):
                return None
            fraction = math.log(value) / math.log(value / next_value)
            return size * (next_size / size) ** fraction
    return None
