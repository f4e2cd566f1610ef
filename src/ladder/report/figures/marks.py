"""Medians as lines and points, by seaborn, with intervals that `ladder.statistics` has computed.

Seaborn is given one row for every mark and no estimator: it draws, and computes nothing.
"""

import numpy as np

from ladder.report.figures import looks, medians, methods
from ladder.report.figures.theme import sns


def curves(axes, cases, x, looks_by_name=None, size=16):
    """Draw medians over the column `x`: a line per method, markers and intervals.

    `cases` has a row per case with the columns method, median, low, high and converged. `looks_by_name`, {name: Look},
    has the looks if the column `method` has other names than those of methods.
    """
    lines(axes, cases, x, "median", looks_by_name)
    points(axes, cases, x, "median", looks_by_name=looks_by_name, size=size)


def lines(axes, cases, x, y, looks_by_name=None):
    """Draw the column `y` over `x`, a line per method."""
    by_method = looks_of(cases, looks_by_name)
    styles = {"hue_order": list(by_method), "style_order": list(by_method), **looks.styles(by_method), "markers": False}
    sns.lineplot(
        cases, x=x, y=y, hue="method", style="method", **styles, estimator=None, errorbar=None, legend=False, ax=axes
    )
    axes.set(xlabel="", ylabel="")


def points(axes, cases, x, y, along="y", looks_by_name=None, size=16):
    """Draw markers, hollow if a case has not converged, and the interval of each median along an axis."""
    by_method = looks_of(cases, looks_by_name)
    colours = [by_method[method].colour for method in cases["method"]]
    intervals(axes, cases[x if along == "y" else y], cases, along, colours)
    mark(axes, cases, x, y, by_method, size)


def mark(axes, cases, x, y, looks_by_name, size=16):
    """Draw markers with the looks, {name: Look}, of names in the column `method`; hollow if a case has not converged.

    `size` is in square points: a number, or {method: number}.
    """
    styles = looks.styles(looks_by_name)
    del styles["dashes"]
    styles |= {"size": "method", "sizes": size} if isinstance(size, dict) else {"s": size}
    styles |= {"linewidth": 0.9, "zorder": 3, "legend": False}
    sns.scatterplot(cases, x=x, y=y, hue="method", style="method", ax=axes, **styles)
    markers = axes.collections[-1]
    colours = markers.get_facecolors()
    markers.set_edgecolors(colours.copy())
    markers.set_facecolors(np.where(np.asarray(cases["converged"], bool)[:, None], colours, 1.0))
    axes.set(xlabel="", ylabel="")


def intervals(axes, positions, cases, along, colours):
    """Draw intervals along an axis, at these `positions` on the other axis; infinite ends are beyond the panel."""
    low, high = np.maximum(cases["low"], 1 / medians.FAR), np.minimum(cases["high"], medians.FAR)
    draw = axes.vlines if along == "y" else axes.hlines
    draw(positions, low, high, colors=colours, linewidth=0.8, zorder=2.5)


def looks_of(cases, looks_by_name):
    """{name: Look} of the names in the column `method`, in the order of the ladder."""
    if looks_by_name:
        return {name: look for name, look in looks_by_name.items() if name in set(cases["method"])}
    return {method: looks.look(method) for method in methods.sort_methods(cases["method"])}
