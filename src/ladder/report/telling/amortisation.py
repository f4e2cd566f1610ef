"""After how many calls work done before them pays, such as sending a matrix that stays."""

import math
from typing import NamedTuple

import numpy as np

from ladder.report import ratios, study
from ladder.report.latex import digits, num
from ladder.statistics import claims, crossings

COUNTS = np.geomspace(1, 1e4, 41)  # of calls, at which the two costs are compared


class BreakEven(NamedTuple):
    """The number of calls with the ends of its interval: `low` is 0, `high` infinite without one.

    `value` is 0 where the first call pays, infinite where none does, None where the samples are not decisive.
    """

    value: float | None
    low: float = 0.0
    high: float = math.inf


def break_even(rows, before, other):
    """The number of calls from which a case is cheaper than another, given the rows of the work before its calls.

    None if one of them wasn't measured.
    """
    costs, others = costs_by_process(rows, before), study.processes(other)
    if not (costs and others):
        return None
    spread = {count: [[call + once / count for call in calls] for once, calls in costs] for count in COUNTS}
    points = [(count, claims.quotient(processes, others)) for count, processes in spread.items()]
    if any(ratio.high < 1 for _, ratio in points) and (crossing := crossings.crossing(points)):
        return BreakEven(*crossing)
    if points[0][1].high < 1:
        return BreakEven(0.0, 0.0, 0.0)
    return BreakEven(math.inf, math.inf) if points[-1][1].low > 1 else BreakEven(None)


def of_selections(chapter, kept, other):
    """The break-even point of two selections of a chapter."""
    return break_even(chapter.find(kept), chapter.phases_before(kept), chapter.find(other))


def costs_by_process(rows, before):
    """[(seconds before the calls, [seconds of each call])] of the processes where both are known."""
    rows = study.one_case(rows)
    if rows.empty or before.empty:
        return []
    once = before.groupby("process")["seconds"].median()
    calls = rows.groupby("process")["seconds"]
    return [(once[process], list(seconds)) for process, seconds in calls if process in once.index]


def predicate(point, other, calls):
    """A break-even point as the predicate of a sentence, against another's calls; None stays None."""
    if point is None:
        return None
    if point.value is None:
        return f"has no significant break-even point against {other}"
    if point.value == math.inf:
        return f"never pays off against {other}"
    count = f"after {text(point)} {calls}" if point.value else f"with the first of the {calls}"
    return f"pays off against {other} {count}"


def crossing(points, at, everywhere, nowhere, undecided):
    """The size from which on the ratios of points [(size, ratio)] exceed one, as a predicate; None without a ratio.

    `at` says so of a size, `{}`; where there is none, the other words do, of sizes from `{first}` to `{last}`.
    """
    points = [(size, ratio) for size, ratio in points if ratio]
    if not points:
        return None
    answer = crossings.break_even(points)
    if isinstance(answer, tuple):
        return at.format(ratios.size(*answer))
    words = {crossings.EVERYWHERE: everywhere, crossings.NOWHERE: nowhere}.get(answer, undecided)
    return words.format(first=num(points[0][0]), last=num(points[-1][0]))


def text(point):
    """A number of calls with its interval, or the word why there is none; None stays None."""
    if point is None:
        return None
    if point.value is None:
        return "undecided"
    if point.value in (0.0, math.inf):
        return "never" if point.value else "at once"
    low, high = (digits(end, 2) if 0 < end < math.inf else None for end in point[1:])
    if high is None:
        return f"{num(digits(point.value, 2))} [{low or 1}, --]"
    return f"{num(digits(point.value, 2))} [{num(low or 1)}, {num(high)}]"
