"""Break-even points: the size from which a case is faster than another, the calls after which preparation pays off."""

import math

import numpy as np

from ladder.report import ratios
from ladder.report.latex import digits, num
from ladder.statistics import quotients
from ladder.statistics.crossings import EVERYWHERE, NOWHERE, break_even
from ladder.statistics.verdicts import UNDECIDED
from ladder.store import study

COUNTS = np.geomspace(1, 1e4, 41)  # the numbers of calls at which two costs are compared


def crossing(points, at, everywhere, nowhere, undecided):
    """The size from which the ratios of `points`, [(size, ratio)], are below one, in words; None without a ratio.

    `at` are the words for a size, `{}`; the others are for answers without one, about sizes `{first}` to `{last}`.
    """
    points = [(size, ratio) for size, ratio in points if ratio]
    answer = break_even(points)
    if answer is None or isinstance(answer, tuple):
        return answer and at.format(ratios.size(*answer))
    words = {EVERYWHERE: everywhere, NOWHERE: nowhere, UNDECIDED: undecided}[answer]
    return words.format(first=num(points[0][0]), last=num(points[-1][0]))


def calls_to_pay(chapter, prepared, other):
    """The number of calls from which a selection is cheaper than another, although it prepares before the first call.

    An answer of `crossings.break_even`: a number with the ends of its interval, or a word. None if one of them wasn't
    measured.
    """
    rows, other_times = study.first_case(chapter.find(prepared)), study.processes(chapter.find(other))
    before = chapter.phases(prepared, before=True)
    if rows.empty or before.empty or not other_times:
        return None
    preparation, calls = before.groupby("process")["seconds"].median(), rows.groupby("process")["seconds"]
    costs = [(preparation[process], list(seconds)) for process, seconds in calls if process in preparation.index]
    per_call = {count: [[call + first / count for call in calls] for first, calls in costs] for count in COUNTS}
    return break_even([(count, quotients.quotient(processes, other_times)) for count, processes in per_call.items()])


def text(answer):
    """An answer of `calls_to_pay` as LaTeX: the number with its interval, or a word; None stays None."""
    if not isinstance(answer, tuple):
        return {EVERYWHERE: "at once", NOWHERE: "never"}.get(answer, answer)
    value, low, high = answer
    upper = "--" if high == math.inf else num(digits(high, 2))
    return f"{num(digits(value, 2))} [{num(digits(low, 2) if low else 1)}, {upper}]"
