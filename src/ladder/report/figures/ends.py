"""Names of lines where they end, at the right of a panel, as far apart as their letters are high."""

import numpy as np

from ladder.report.figures.theme import SMALL

POINTS = 8.0  # from name to name


def label(axes, lines, inches):
    """Write names beside a panel with a logarithmic axis upwards: [(height at the line's end, name, colour)].

    The panel's limits are set before; it will be about so many inches high.
    """
    if not lines:
        return
    lines = sorted(lines, key=lambda line: line[0])
    low, high = np.log(axes.get_ylim())
    shares = apart([(np.log(height) - low) / (high - low) for height, *_ in lines], POINTS / (72 * inches))
    for share, (_, name, colour) in zip(shares, lines, strict=True):
        place = {"xycoords": "axes fraction", "textcoords": "offset points", "va": "center", "fontsize": SMALL}
        axes.annotate(name, (1, share), (4, 0), color=colour, **place)


def names(axes, cases, x, looks_of, inches):
    """The names of lines over a column: beside the panel, or where one ends earlier below or above the others."""
    last = cases.sort_values(x).groupby("method").tail(1)
    is_long = last[x] == cases[x].max()
    beside = last[is_long]
    looks = [looks_of[method] for method in beside["method"]]
    label(axes, [(end, look.label, look.colour) for end, look in zip(beside["median"], looks, strict=True)], inches)
    for row in last[~is_long].itertuples():
        at, look = getattr(row, x), looks_of[row.method]
        others = cases.loc[(cases[x] == at) & cases["method"].isin(beside["method"]), "median"]
        place = {"textcoords": "offset points", "va": "bottom" if row.median > others.max() else "top"}
        axes.annotate(look.label, (at, row.median), (4, 0), **place, color=look.colour, fontsize=SMALL)


def apart(places, step):
    """Rising places moved as little as can be seen to be at least a step apart, within 0 and 1 where there is room."""
    places = list(places)
    for index in range(1, len(places)):
        places[index] = max(places[index], places[index - 1] + step)
    top = max(1.0, step * (len(places) - 1))
    for index in range(len(places) - 1, -1, -1):
        places[index] = min(places[index], top - step * (len(places) - 1 - index))
    return places
