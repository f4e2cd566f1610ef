"""From which size on one thing is faster than another, and after how many calls work done before them has paid."""

import math

import numpy as np

from ladder.report import ratios
from ladder.report.latex import digits, num
from ladder.statistics import claims
from ladder.statistics.crossings import EVERYWHERE, NOWHERE, break_even
from ladder.statistics.verdicts import UNDECIDED
from ladder.store import study

COUNTS = np.geomspace(1, 1e4, 41)  # of calls, at which the two costs are compared


def crossing(points, at, everywhere, nowhere, undecided):
    """The size from which on the ratios of points [(size, ratio)] are below one, as a predicate; None without a ratio.

    `at` says so of a size, `{}`; without one, the other words do, of sizes from `{first}` to `{last}`.
    """
    points = [(size, ratio) for size, ratio in points if ratio]
    answer = break_even(points)
    if answer is None or isinstance(answer, tuple):
        return answer and at.format(ratios.size(*answer))
    words = {EVERYWHERE: everywhere, NOWHERE: nowhere, UNDECIDED: undecided}[answer]
    return words.format(first=num(points[0][0]), last=num(points[-1][0]))


def calls_to_pay(chapter, kept, other):
    """The number of calls from which a selection of a chapter is cheaper than another, with the work before its calls.

    An answer of `crossings.break_even`: a number with the ends of its interval, or a word. None if one of them wasn't
    measured.
    """
    rows, others = study.first_case(chapter.find(kept)), study.processes(chapter.find(other))
    before = chapter.phases(kept, before=True)
    if rows.empty or before.empty or not others:
        return None
    preparation, calls = before.groupby("process")["seconds"].median(), rows.groupby("process")["seconds"]
    costs = [(preparation[process], list(seconds)) for process, seconds in calls if process in preparation.index]
    spread = {count: [[call + first / count for call in calls] for first, calls in costs] for count in COUNTS}
    return break_even([(count, claims.quotient(processes, others)) for count, processes in spread.items()])


def text(answer):
    """Such a number of calls with its interval, or the word why there is none; None stays None."""
    if not isinstance(answer, tuple):
        return {EVERYWHERE: "at once", NOWHERE: "never"}.get(answer, answer)
    value, low, high = answer
    upper = "--" if high == math.inf else num(digits(high, 2))
    return f"{num(digits(value, 2))} [{num(digits(low, 2) if low else 1)}, {upper}]"
