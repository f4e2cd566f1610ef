"""Traces: what runs beside what in one run of a case, as rows of a lane, a name, and when it starts and ends.

A lane is what works on one thing at a time, such as a card's stream. A variant's `Steps` may have the function that
makes such a run; see `devices/cuda_trace.py` for one that records work on a card.
"""

import math
from numbers import Real

from ladder.errors import LadderError

COLUMNS = ("lane", "name", "start", "end")
MOST = 400  # rows of a trace in a record


def checked(rows, case):
    """The rows as lists of COLUMNS, times in seconds since the run's start. Raises LadderError for any other rows."""
    if taken := {*case.sizes, *case.tuning} & {*COLUMNS}:
        raise LadderError(
            f"A trace has the columns {', '.join(COLUMNS)}, but {case.key} has {', '.join(sorted(taken))} as a size "
            "or tuning: name that otherwise, or give no trace."
        )
    rows = [*rows]
    if len(rows) > MOST:
        raise LadderError(
            f"The trace of {case.key} has {len(rows)} rows, but a record holds at most {MOST}: trace fewer things, "
            "or give no trace of such a case."
        )
    return [plain(row, case) for row in rows]


def plain(row, case):
    """One row as a list of Python's own strings and numbers."""
    if not is_sound(row):
        raise LadderError(
            f"The trace of {case.key} has the row {row!r}: it must be a lane and a name, which are text, and a start "
            "and an end in seconds, finite and with 0 <= start <= end."
        )
    lane, name, start, end = row
    return [str(lane), str(name), float(start), float(end)]


def is_sound(row):
    """Whether a row is two texts and two finite times, the first at least 0 and at most the second."""
    if not isinstance(row, (tuple, list)) or len(row) != len(COLUMNS):
        return False
    *texts, start, end = row
    are_times = all(isinstance(time, Real) and not isinstance(time, bool) for time in (start, end))
    return all(isinstance(text, str) and text for text in texts) and are_times and 0 <= start <= end < math.inf
