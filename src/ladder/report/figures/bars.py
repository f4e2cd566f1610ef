"""Horizontal bars in groups, for figures that compare methods in a few sizes or numbers of threads."""

import numpy as np
import pandas as pd

from ladder.report.figures import layout, looks, marks
from ladder.report.figures.theme import DARK, SMALL, sns

INCHES = 0.106  # height of a bar
GAP = 0.4  # between groups, in bars
WIDE = 0.78  # of the room that a bar has
DASHED = {"color": DARK, "linewidth": 0.9, "linestyle": (0, (4, 2))}
BESIDE = {"textcoords": "offset points", "va": "center", "fontsize": SMALL, "color": DARK}
WHOLE = {"whole": looks.Look("whole call", DARK, "o")}


def figure(panels, unit, around, entries=()):
    """Panels of bars, {machine: [(title, groups, lines)]}; a line is (value, look), and none without a value.

    `around` are the inches that a panel needs above and below its bars, `entries` those of the legend.
    """
    counts = {name: len(blocks) for name, blocks in panels.items()}
    every = [panel for blocks in panels.values() for panel in blocks]
    tall = {name: max(inches(groups) for _, groups, _ in blocks) + around for name, blocks in panels.items()}
    height, tall = layout.shared_height(counts, tall)
    drawn = layout.new(0.3 + 0.15 * (len(entries) // 5) + height)
    bands = layout.bands(drawn, counts, inches=tall)
    for name, blocks in panels.items():
        for axes, (title, groups, lines) in zip(bands[name], blocks, strict=True):
            lines = [(value, look) for value, look in lines if value]
            grouped(axes, groups, reach=1.03 * max((value for value, _ in lines), default=0.0))
            axes.set_title(title)
            axes.set_xlabel(unit)
            for value, look in lines:
                axes.axvline(value, **look)
    layout.legend(drawn, entries, all(converged(groups) for _, groups, _ in every))
    return drawn


def grouped(axes, groups, reach=0.0):
    """Bars from zero with intervals, a text at the right of each: `groups` is [(method, [bar])], from the top down.

    A bar is a dict of name, value, low, high, converged, text and shade (0: the method's colour, 1: white) or, for one
    of several parts, [(value, colour)] as `parts`, on which a dot is the value; without a value there is its text
    alone. Hollow bars or dots have not converged. The axis reaches to `reach` at least.
    """
    top, every = 0.0, []
    for method, bars in groups:
        look = looks.look(method)
        axes.annotate(look.label, (0, top), (2, 0), **BESIDE, xycoords=("axes fraction", "data"))
        every += [bar | {"at": top + number, "colour": look.colour} for number, bar in enumerate(bars, start=1)]
        top += 1 + len(bars) + GAP
    drawn = [bar for bar in every if bar["value"] is not None]
    fill(axes, [bar for bar in drawn if "parts" not in bar])
    stack(axes, [bar for bar in drawn if "parts" in bar])
    for bar in every:
        write(axes, bar)
    axes.set_yticks([bar["at"] for bar in every], [bar["name"] for bar in every])
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(top - GAP - 0.3, -0.6)
    axes.set_xlim(0, max([reach, *(1.08 * length(bar) for bar in drawn)]) or 1.0)
    axes.grid(axis="x")


def fill(axes, bars):
    """Bars of one value each, hollow where it has not converged, with their intervals."""
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
    """Bars of several parts, and a dot with its interval on each."""
    if not bars:
        return
    parts = [(bar["at"], value, colour) for bar in bars for value, colour in bar["parts"]]
    if parts:
        stacked(axes, pd.DataFrame(parts, columns=["at", "value", "colour"]))
    marks.points(axes, pd.DataFrame(bars).assign(method="whole"), "value", "at", along="x", kinds=WHOLE)


def stacked(axes, parts):
    """Parts of bars beside each other from zero, in their order: rows of at, value and colour."""
    bars = parts.groupby("at")["value"]
    parts = parts.assign(left=bars.cumsum() - parts["value"], number=bars.cumcount())
    for (_, colour), part in parts.groupby(["number", "colour"], sort=False):
        draw(axes, part, x="value", color=colour, left=part["left"].to_numpy(), edgecolor="white", linewidth=0.4)


def draw(axes, rows, **options):
    """Horizontal bars at the heights of the column `at`, in rising order, one row each: seaborn computes nothing."""
    limits, steps = axes.get_ylim(), np.diff(rows["at"])  # seaborn's unit of width is the least step
    options |= {"width": WIDE / min(steps, default=1.0), "saturation": 1, "errorbar": None, "legend": False}
    sns.barplot(rows, y="at", orient="h", native_scale=True, ax=axes, **options)
    axes.set(xlabel="", ylabel="", ylim=limits)


def write(axes, bar):
    """The text of a bar, or in its place."""
    if bar["value"] is None:
        axes.annotate(bar["text"], (0, bar["at"]), (2, 0), **BESIDE, style="italic")
    else:
        axes.annotate(bar["text"], (1, bar["at"]), (3, 0), **BESIDE, xycoords=("axes fraction", "data"))


def length(bar):
    """How far a bar reaches."""
    return max(bar["value"], sum(value for value, _ in bar.get("parts", ())))


def converged(groups):
    """Whether all cases of some groups have converged."""
    return all(bar.get("converged", True) for _, bars in groups for bar in bars)


def inches(groups):
    """The height of a panel of such groups."""
    return INCHES * sum(1 + len(bars) + GAP for _, bars in groups)
