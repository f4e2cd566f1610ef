"""Names of lines at their ends, at the right of a panel, moved apart so that they don't overlap."""

import numpy as np

from ladder.report.figures.theme import SMALL

MIN_DISTANCE = 8.0  # the minimum distance between two names, in points


def label_at_right(axes, lines, inches):
    """Write the names of lines, [(y at the line's end, name, colour)], beside a panel with a logarithmic y axis.

    The panel's limits must be set; its height will be about `inches`.
    """
    if not lines:
        return
    lines = sorted(lines, key=lambda line: line[0])
    low, high = np.log(axes.get_ylim())
    heights = separate([(np.log(y) - low) / (high - low) for y, *_ in lines], MIN_DISTANCE / (72 * inches))
    for height, (_, name, colour) in zip(heights, lines, strict=True):
        options = {"xycoords": "axes fraction", "textcoords": "offset points", "va": "center", "fontsize": SMALL}
        axes.annotate(name, (1, height), (4, 0), color=colour, **options)


def label_lines(axes, cases, x, looks_by_name, inches):
    """Write the names of lines over the column `x`: beside the panel or, if a line ends earlier, at its end."""
    last = cases.sort_values(x).groupby("method").tail(1)
    reaches_end = last[x] == cases[x].max()
    long = last[reaches_end]
    looks = [looks_by_name[method] for method in long["method"]]
    lines = [(y, look.label, look.colour) for y, look in zip(long["median"], looks, strict=True)]
    label_at_right(axes, lines, inches)
    for row in last[~reaches_end].itertuples():
        end, look = getattr(row, x), looks_by_name[row.method]
        others = cases.loc[(cases[x] == end) & cases["method"].isin(long["method"]), "median"]
        options = {"textcoords": "offset points", "va": "bottom" if row.median > others.max() else "top"}
        axes.annotate(look.label, (end, row.median), (4, 0), **options, color=look.colour, fontsize=SMALL)


def separate(positions, step):
    """Rising positions, moved so that they are at least `step` apart, and between 0 and 1 if there is room."""
    positions = list(positions)
    for index in range(1, len(positions)):
        positions[index] = max(positions[index], positions[index - 1] + step)
    top = max(1.0, step * (len(positions) - 1))
    for index in range(len(positions) - 1, -1, -1):
        positions[index] = min(positions[index], top - step * (len(positions) - 1 - index))
    return positions
