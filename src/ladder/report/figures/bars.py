"""Horizontal bars in groups, for figures that compare methods at a few sizes or numbers of threads."""

import numpy as np
import pandas as pd

from ladder.report.figures import layout, looks, marks
from ladder.report.figures.theme import DARK, SMALL, sns

INCHES = 0.106  # from one bar to the next
GAP = 0.4  # between groups, in units of INCHES
THICKNESS = 0.78  # of a bar, in units of INCHES
DASHED = {"color": DARK, "linewidth": 0.9, "linestyle": (0, (4, 2))}
TEXT = {"textcoords": "offset points", "va": "center", "fontsize": SMALL, "color": DARK}
WHOLE = {"whole": looks.Look("whole call", DARK, "o")}


def figure(panels, unit, around, entries=()):
    """The figure of panels of bars, {machine: [(title, groups, lines)]}, with groups as in `grouped`.

    A line is (value, options of matplotlib); one without a value isn't drawn. `around` are the inches that a panel
    needs above and below its bars, `entries` the handles of the legend.
    """
    counts = {name: len(blocks) for name, blocks in panels.items()}
    heights = {name: max(inches(groups) for _, groups, _ in blocks) + around for name, blocks in panels.items()}
    height, heights = layout.shared_height(counts, heights)
    figure = layout.new(0.3 + 0.15 * (len(entries) // 5) + height)
    bands = layout.bands(figure, counts, inches=heights)
    for name, blocks in panels.items():
        for axes, (title, groups, lines) in zip(bands[name], blocks, strict=True):
            lines = [(value, options) for value, options in lines if value]
            grouped(axes, groups, reach=1.03 * max((value for value, _ in lines), default=0.0))
            axes.set_title(title)
            axes.set_xlabel(unit)
            for value, options in lines:
                axes.axvline(value, **options)
    layout.legend(figure, entries, all(have_converged(groups) for blocks in panels.values() for _, groups, _ in blocks))
    return figure


def grouped(axes, groups, reach=0.0):
    """Draw bars from zero with intervals and texts at their right; `groups` is [(method, [bar])], from the top down.

    A bar is a dict of name, value, low, high, converged, text and shade (0: the method's colour, 1: white). A stacked
    bar has `parts`, [(value, colour)], instead of a shade, and a dot at its value. Without a value only the text is
    shown. Hollow bars and dots have not converged. The axis extends at least to `reach`.
    """
    top, all_bars = 0.0, []
    for method, bars in groups:
        look = looks.look(method)
        axes.annotate(look.label, (0, top), (2, 0), **TEXT, xycoords=("axes fraction", "data"))
        all_bars += [bar | {"at": top + number, "colour": look.colour} for number, bar in enumerate(bars, start=1)]
        top += 1 + len(bars) + GAP
    with_value = [bar for bar in all_bars if bar["value"] is not None]
    fill(axes, [bar for bar in with_value if "parts" not in bar])
    stack(axes, [bar for bar in with_value if "parts" in bar])
    for bar in all_bars:
        write(axes, bar)
    axes.set_yticks([bar["at"] for bar in all_bars], [bar["name"] for bar in all_bars])
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(top - GAP - 0.3, -0.6)
    axes.set_xlim(0, max([reach, *(1.08 * length(bar) for bar in with_value)]) or 1.0)
    axes.grid(axis="x")


def fill(axes, bars):
    """Draw bars of one value each with their intervals; a bar that has not converged is hollow."""
    if not bars:
        return
    rows = pd.DataFrame(bars).reset_index(names="number")
    palette = [looks.lighter(bar["colour"], bar["shade"]) if bar["converged"] else "white" for bar in bars]
    before = len(axes.patches)
    draw(axes, rows, x="value", hue="number", palette=palette)
    for patch, bar in zip(axes.patches[before:], bars, strict=True):
        patch.set(edgecolor=bar["colour"], linewidth=0.7)
    marks.intervals(axes, rows["at"], rows, "x", DARK)


def stack(axes, bars):
    """Draw bars of several parts, and a dot with its interval on each."""
    if not bars:
        return
    parts = [(bar["at"], value, colour) for bar in bars for value, colour in bar["parts"]]
    if parts:
        stacked(axes, pd.DataFrame(parts, columns=["at", "value", "colour"]))
    marks.points(axes, pd.DataFrame(bars).assign(method="whole"), "value", "at", along="x", kinds=WHOLE)


def stacked(axes, parts):
    """Draw parts of bars, rows of at, value and colour, beside each other from zero, in their order."""
    bars = parts.groupby("at")["value"]
    parts = parts.assign(left=bars.cumsum() - parts["value"], number=bars.cumcount())
    for (_, colour), part in parts.groupby(["number", "colour"], sort=False):
        draw(axes, part, x="value", color=colour, left=part["left"].to_numpy(), edgecolor="white", linewidth=0.4)


def draw(axes, rows, **options):
    """Draw horizontal bars at the column `at`, in rising order, one row each, so that seaborn computes nothing."""
    limits, steps = axes.get_ylim(), np.diff(rows["at"])  # seaborn's unit of width is the smallest step
    options |= {"width": THICKNESS / min(steps, default=1.0), "saturation": 1, "errorbar": None, "legend": False}
    sns.barplot(rows, y="at", orient="h", native_scale=True, ax=axes, **options)
    axes.set(xlabel="", ylabel="", ylim=limits)


def write(axes, bar):
    """Write the text of a bar beside the panel or, without a value, in place of the bar."""
    if bar["value"] is None:
        axes.annotate(bar["text"], (0, bar["at"]), (2, 0), **TEXT, style="italic")
    else:
        axes.annotate(bar["text"], (1, bar["at"]), (3, 0), **TEXT, xycoords=("axes fraction", "data"))


def length(bar):
    """The length of a bar, including its dot."""
    return max(bar["value"], sum(value for value, _ in bar.get("parts", ())))


def have_converged(groups):
    """Whether all cases of some groups have converged."""
    return all(bar.get("converged", True) for _, bars in groups for bar in bars)


def inches(groups):
    """The height of a panel with these groups."""
    return INCHES * sum(1 + len(bars) + GAP for _, bars in groups)
