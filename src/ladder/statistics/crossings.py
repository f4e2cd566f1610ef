"""The size at which two costs are equal: the break-even point with its interval."""

import itertools
import math
from collections.abc import Sequence

from ladder.statistics.claims import Ratio
from ladder.statistics.verdicts import UNDECIDED

EVERYWHERE, NOWHERE = "everywhere", "nowhere"


def break_even(points: Sequence[tuple[float, Ratio]]) -> tuple[float, float, float] | str | None:
    """The size above which one cost is below another, as (size, low, high), or a word; `points` as in `crossing`.

    EVERYWHERE or NOWHERE if the intervals at all sizes agree; UNDECIDED if there is no crossing, or if no interval
    lies below 1, so that no difference is significant at the sizes where one is expected. None without points.
    """
    if not points:
        return None
    ratios = [ratio for _, ratio in points]
    if all(ratio.high < 1 for ratio in ratios):
        return EVERYWHERE
    if all(ratio.low > 1 for ratio in ratios):
        return NOWHERE
    return (any(ratio.high < 1 for ratio in ratios) and crossing(points)) or UNDECIDED


def crossing(points: Sequence[tuple[float, Ratio]]) -> tuple[float, float, float] | None:
    """The size at which a ratio falls through 1, and its interval, by log-log interpolation between the points.

    `points` are (size, ratio) in ascending order of the sizes. The interval is between the sizes at which the two ends
    of the ratio's interval cross 1; an end that doesn't cross is 0 or inf. None if the ratio doesn't fall through 1.
    """
    value = first_fall([(size, ratio.value) for size, ratio in points])
    if value is None:
        return None
    low = first_fall([(size, ratio.low) for size, ratio in points])
    high = first_fall([(size, ratio.high) for size, ratio in points])
    return value, 0.0 if low is None else min(low, value), math.inf if high is None else max(high, value)


def first_fall(points):
    """The first size at which a value falls through 1; None if it never does."""
    for (size, value), (next_size, next_value) in itertools.pairwise(points):
        if value >= 1 > next_value:
            if not (next_value > 0 and value < math.inf):
                return None
            share = math.log(value) / math.log(value / next_value)
            return size * (next_size / size) ** share
    return None
