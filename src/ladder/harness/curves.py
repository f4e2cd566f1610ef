"""Curves: points that a workload's checks give for a record, such as the loss of a training by epoch.

The workload names the numbers of a point in its literal CURVE; `check` gives a point, a list of points or None.
"""

import math
from numbers import Integral, Real

import numpy as np

from ladder.errors import LadderError

MOST = 200  # points of a curve in a record


def checked(points, case, names):
    """The points as plain numbers. Raises LadderError for a point that isn't made of finite numbers of these names."""
    if taken := {*case.sizes, *case.tuning} & set(names):
        raise LadderError(
            f"CURVE of {case.workload} has {', '.join(sorted(taken))}, which {case.key} has as a size or tuning: "
            "name it otherwise."
        )
    return [plain(point, case.workload, names) for point in points]


def plain(point, workload, names):
    """One point as a dict of Python's own numbers, in the order of the names."""
    if set(point) != set(names):
        raise LadderError(
            f"A point of the curve of {workload} holds {', '.join(map(str, point)) or 'nothing'}, but its CURVE "
            f"declares {', '.join(names) or 'nothing'}: let `check` give exactly what is declared."
        )
    for name in names:
        if isinstance(point[name], bool) or not isinstance(point[name], Real) or not math.isfinite(point[name]):
            raise LadderError(f"In the curve of {workload}, {name} is {point[name]!r}, but must be a finite number.")
    return {name: int(value) if isinstance(value := point[name], Integral) else float(value) for name in names}


def thinned(points, most=MOST):
    """All points up to `most`; of more, at most that many by the logarithm of their position, the first and last kept.

    Near the start of a long curve neighbours are kept, towards its end one in many.
    """
    if len(points) <= most:
        return points
    chosen = np.unique(np.rint(np.geomspace(1, len(points), most)).astype(int) - 1)
    return [points[index] for index in chosen]
