"""Break-even points: the size from which a case is faster than another, the calls after which preparation pays off."""

import numpy as np

from ladder.report import ratios
from ladder.report.latex import num
from ladder.statistics import quotients
from ladder.statistics.crossings import EVERYWHERE, NOWHERE, break_even
from ladder.statistics.verdicts import UNDECIDED
from ladder.store import study as queries

CALL_COUNTS = np.geomspace(1, 1e4, 41)  # the numbers of calls at which two costs are compared


def crossing_text(points, *words):
    """The size from which the ratios of `points`, [(size, ratio)], are below one, in words, as in `answer_text`.

    The words may name the sizes `{first}` and `{last}`. None without points.
    """
    return answer_text(break_even(points), *words, first=num(points[0][0]), last=num(points[-1][0])) if points else None


def answer_text(answer, at, everywhere, nowhere, undecided, **values):
    """An answer of `crossings.break_even` in words, which `values` complete; `at` has `{}` for the size or number."""
    if isinstance(answer, tuple):
        return at.format(ratios.size_with_interval(*answer), **values)
    words = {EVERYWHERE: everywhere, NOWHERE: nowhere, UNDECIDED: undecided}
    return answer and words[answer].format(**values)


def calls_to_break_even(study, prepared, other):
    """The number of calls from which a selection is cheaper than another, although it prepares before the first call.

    An answer of `crossings.break_even`: a number with the ends of its interval, or a word. None if one of them wasn't
    measured.
    """
    rows, other_times = queries.first_case(study.find(prepared)), queries.processes(study.find(other))
    preparations = study.phases(prepared, outside=True)
    if rows.empty or preparations.empty or not other_times:
        return None
    setup, calls = preparations.groupby("process")["seconds"].median(), rows.groupby("process")["seconds"]
    costs = [(setup[process], list(seconds)) for process, seconds in calls if process in setup.index]
    per_call = {count: [[call + setup / count for call in calls] for setup, calls in costs] for count in CALL_COUNTS}
    return break_even([(count, quotients.quotient(processes, other_times)) for count, processes in per_call.items()])
