"""Traces: the parts of one run of a case and when each ran, as rows of a lane, a name, a start and an end.

A lane is something that runs one part at a time, such as a GPU's stream. The function `Steps.trace` of a variant makes
the traced run; `cuda/trace.py` records it on a GPU.
"""

import math
from collections.abc import Iterable
from numbers import Real
from typing import Any

from ladder.errors import LadderError
from ladder.records.case import Case

COLUMNS = ("lane", "name", "start", "end")
MAX_ROWS = 400  # of a trace in a record


def validate(rows: Iterable[Any], case: Case) -> list[list[float | str]]:
    """The rows as lists of COLUMNS, times in seconds since the run's start. Raises LadderError for any other rows."""
    if clashes := {*case.sizes, *case.tuning} & {*COLUMNS}:
        raise LadderError(
            f"A trace has the columns {', '.join(COLUMNS)}, but {', '.join(sorted(clashes))} is a size or tuning of "
            f"{case.key}: rename that, or record no trace."
        )
    rows = [*rows]
    if len(rows) > MAX_ROWS:
        raise LadderError(
            f"The trace of {case.key} has {len(rows)} rows, but a record holds at most {MAX_ROWS}: trace fewer parts, "
            "or record no trace of such a case."
        )
    return [to_builtin(row, case) for row in rows]


def to_builtin(row: Any, case: Case) -> list[float | str]:
    """A row as a list of Python's built-in strings and numbers."""
    if not is_valid(row):
        raise LadderError(
            f"The trace of {case.key} has the row {row!r}: a row must be a lane and a name, both text, and a start "
            "and an end in seconds, finite and with 0 <= start <= end."
        )
    lane, name, start, end = row
    return [str(lane), str(name), float(start), float(end)]


def is_valid(row: Any) -> bool:
    """Whether a row is two non-empty texts and two finite times, with 0 <= start <= end."""
    if not isinstance(row, (tuple, list)) or len(row) != len(COLUMNS):
        return False
    *texts, start, end = row
    are_times = all(isinstance(time, Real) and not isinstance(time, bool) for time in (start, end))
    return all(isinstance(text, str) and text for text in texts) and are_times and 0 <= start <= end < math.inf
