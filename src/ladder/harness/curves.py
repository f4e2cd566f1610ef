"""Curves: points that a workload's checks add to a record, such as the loss of each epoch of a training.

The constant CURVE of a workload names the numbers of a point. Its `check` returns a point, a list of points or None.
"""

import math
from collections.abc import Mapping, Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np

from ladder.errors import LadderError
from ladder.records.case import Case

MAX_POINTS = 200  # of a curve in a record


def validate(points: Any, case: Case, names: Sequence[str]) -> list[dict[str, float]]:
    """The points as built-in numbers. Raises LadderError unless each point has exactly these names and is finite.

    No name may be that of a size or a tuning.
    """
    if clashes := {*case.sizes, *case.tuning} & set(names):
        raise LadderError(
            f"CURVE of {case.workload} has {', '.join(sorted(clashes))}, which is a size or tuning of {case.key}: "
            "rename it."
        )
    return [to_builtin(point, case.workload, names) for point in points]


def to_builtin(point: Mapping[str, Any], workload: str, names: Sequence[str]) -> dict[str, float]:
    """A point as a dict of Python's built-in numbers, in the order of the names."""
    if set(point) != set(names):
        raise LadderError(
            f"A point of the curve of {workload} holds {', '.join(map(str, point)) or 'nothing'}, but its CURVE "
            f"declares {', '.join(names) or 'nothing'}: `check` must return exactly what is declared."
        )
    for name in names:
        if isinstance(point[name], bool) or not isinstance(point[name], Real) or not math.isfinite(point[name]):
            raise LadderError(f"In the curve of {workload}, {name} is {point[name]!r}, but must be a finite number.")
    return {name: int(value) if isinstance(value := point[name], Integral) else float(value) for name in names}


def thin(points: list[dict[str, float]], limit: int = MAX_POINTS) -> list[dict[str, float]]:
    """At most `limit` of the points, spaced evenly in the logarithm of their position; the first and last are kept.

    So a long curve keeps all points near its start, but only few of those towards its end.
    """
    if len(points) <= limit:
        return points
    indices = np.unique(np.rint(np.geomspace(1, len(points), limit)).astype(int) - 1)
    return [points[index] for index in indices]
