"""Medians as lines and points, by seaborn, with intervals that `ladder.statistics` has computed.

Seaborn is given one row for every mark and no estimator: it draws, and computes nothing.
"""

import numpy as np

from ladder.report.figures import looks, medians, methods
from ladder.report.figures.theme import sns


def curves(axes, cases, x, kinds=None, size=16):
    """Draw medians over the column `x`: a line per method, markers and intervals.

    `cases` has a row per case with the columns method, median, low, high and converged. `kinds`, {name: Look}, are the
    looks if the column `method` has other names than those of methods.
    """
    lines(axes, cases, x, "median", kinds)
    points(axes, cases, x, "median", kinds=kinds, size=size)


def lines(axes, cases, x, y, kinds=None):
    """Draw the column `y` over `x`, a line per method."""
    by_name = looks_of(cases, kinds)
    styles = {"hue_order": list(by_name), "style_order": list(by_name), **looks.styles(by_name), "markers": False}
    sns.lineplot(
        cases, x=x, y=y, hue="method", style="method", **styles, estimator=None, errorbar=None, legend=False, ax=axes
    )
    axes.set(xlabel="", ylabel="")


def points(axes, cases, x, y, along="y", kinds=None, size=16):
    """Draw markers, hollow if a case has not converged, and the interval of each median along an axis."""
    by_name = looks_of(cases, kinds)
    colours = [by_name[method].colour for method in cases["method"]]
    intervals(axes, cases[x if along == "y" else y], cases, along, colours)
    mark(axes, cases, x, y, by_name, size)


def mark(axes, cases, x, y, kinds, size=16):
    """Draw markers with the looks `kinds`, {name: Look}, of the column `method`; hollow if a case has not converged.

    `size` is in square points: a number, or {method: number}.
    """
    styles = looks.styles(kinds)
    del styles["dashes"]
    styles |= {"size": "method", "sizes": size} if isinstance(size, dict) else {"s": size}
    styles |= {"linewidth": 0.9, "zorder": 3, "legend": False}
    sns.scatterplot(cases, x=x, y=y, hue="method", style="method", ax=axes, **styles)
    markers = axes.collections[-1]
    colours = markers.get_facecolors()
    markers.set_edgecolors(colours.copy())
    markers.set_facecolors(np.where(np.asarray(cases["converged"], bool)[:, None], colours, 1.0))
    axes.set(xlabel="", ylabel="")


def intervals(axes, where, cases, along, colours):
    """Draw intervals along an axis, at the positions `where` on the other axis; infinite ends are beyond the panel."""
    low, high = np.maximum(cases["low"], 1 / medians.FAR), np.minimum(cases["high"], medians.FAR)
    draw = axes.vlines if along == "y" else axes.hlines
    draw(where, low, high, colors=colours, linewidth=0.8, zorder=2.5)


def looks_of(cases, kinds):
    """{name: Look} of the names in the column `method`, in the order of the ladder."""
    if kinds:
        return {name: look for name, look in kinds.items() if name in set(cases["method"])}
    return {method: looks.look(method) for method in methods.ordered(cases["method"])}
