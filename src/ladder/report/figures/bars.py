"""Horizontal bars in groups, for figures that compare methods at a few sizes or numbers of threads."""

import numpy as np
import pandas as pd

from ladder.report.figures import layout, looks, marks
from ladder.report.figures.theme import DARK, SMALL, sns

BAR_PITCH = 0.106  # inches from one bar to the next
GROUP_GAP = 0.4  # between groups, in units of BAR_PITCH
THICKNESS = 0.78  # of a bar, in units of BAR_PITCH
DASHED = {"color": DARK, "linewidth": 0.9, "linestyle": (0, (4, 2))}
TEXT = {"textcoords": "offset points", "va": "center", "fontsize": SMALL, "color": DARK}
WHOLE_CALL = {"whole": looks.Look("whole call", DARK, "o")}


def figure(panels, unit, margin, handles=()):
    """The figure of panels of bars, {machine: [(title, groups, lines)]}, with groups as in `draw_groups`.

    A line is (value, options of matplotlib); one without a value isn't drawn. `margin` are the inches that a panel
    needs above and below its bars, `handles` those of the legend.
    """
    counts = {name: len(blocks) for name, blocks in panels.items()}
    heights = {name: max(panel_inches(groups) for _, groups, _ in blocks) + margin for name, blocks in panels.items()}
    height, heights = layout.band_heights(counts, heights)
    figure = layout.new_figure(0.3 + 0.15 * (len(handles) // 5) + height)
    bands = layout.bands(figure, counts, inches=heights)
    for name, blocks in panels.items():
        for axes, (title, groups, lines) in zip(bands[name], blocks, strict=True):
            lines = [(value, options) for value, options in lines if value]
            draw_groups(axes, groups, min_extent=1.03 * max((value for value, _ in lines), default=0.0))
            axes.set_title(title)
            axes.set_xlabel(unit)
            for value, options in lines:
                axes.axvline(value, **options)
    layout.legend(figure, handles, all(have_converged(groups) for blocks in panels.values() for _, groups, _ in blocks))
    return figure


def draw_groups(axes, groups, min_extent=0.0):
    """Draw bars from zero with intervals and texts at their right; `groups` is [(method, [bar])], from the top down.

    A bar is a dict of name, value, low, high, converged, text and shade (0: the method's colour, 1: white). A stacked
    bar has `parts`, [(value, colour)], instead of a shade, and a dot at its value. Without a value only the text is
    shown. Hollow bars and dots have not converged. The axis extends at least to `min_extent`.
    """
    top, all_bars = 0.0, []
    for method, bars in groups:
        look = looks.look(method)
        axes.annotate(look.label, (0, top), (2, 0), **TEXT, xycoords=("axes fraction", "data"))
        all_bars += [bar | {"y": top + number, "colour": look.colour} for number, bar in enumerate(bars, start=1)]
        top += 1 + len(bars) + GROUP_GAP
    with_value = [bar for bar in all_bars if bar["value"] is not None]
    draw_simple_bars(axes, [bar for bar in with_value if "parts" not in bar])
    draw_stacked_bars(axes, [bar for bar in with_value if "parts" in bar])
    for bar in all_bars:
        write_text(axes, bar)
    axes.set_yticks([bar["y"] for bar in all_bars], [bar["name"] for bar in all_bars])
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(top - GROUP_GAP - 0.3, -0.6)
    axes.set_xlim(0, max([min_extent, *(1.08 * length(bar) for bar in with_value)]) or 1.0)
    axes.grid(axis="x")


def draw_simple_bars(axes, bars):
    """Draw bars of one value each with their intervals; a bar that has not converged is hollow."""
    if not bars:
        return
    rows = pd.DataFrame(bars).reset_index(names="number")
    palette = [looks.lighten(bar["colour"], bar["shade"]) if bar["converged"] else "white" for bar in bars]
    old_count = len(axes.patches)
    barplot(axes, rows, x="value", hue="number", palette=palette)
    for patch, bar in zip(axes.patches[old_count:], bars, strict=True):
        patch.set(edgecolor=bar["colour"], linewidth=0.7)
    marks.intervals(axes, rows["y"], rows, "x", DARK)


def draw_stacked_bars(axes, bars):
    """Draw bars of several parts, and a dot with its interval on each."""
    if not bars:
        return
    parts = [(bar["y"], value, colour) for bar in bars for value, colour in bar["parts"]]
    if parts:
        draw_parts(axes, pd.DataFrame(parts, columns=["y", "value", "colour"]))
    marks.points(axes, pd.DataFrame(bars).assign(method="whole"), "value", "y", along="x", looks_by_name=WHOLE_CALL)


def draw_parts(axes, parts):
    """Draw parts of bars, rows of y, value and colour, beside each other from zero, in their order."""
    bars = parts.groupby("y")["value"]
    parts = parts.assign(left=bars.cumsum() - parts["value"], number=bars.cumcount())
    for (_, colour), part in parts.groupby(["number", "colour"], sort=False):
        barplot(axes, part, x="value", color=colour, left=part["left"].to_numpy(), edgecolor="white", linewidth=0.4)


def barplot(axes, rows, **options):
    """Draw horizontal bars at the column `y`, in rising order, one row each, so that seaborn computes nothing."""
    limits, steps = axes.get_ylim(), np.diff(rows["y"])  # seaborn's unit of width is the smallest step
    options |= {"width": THICKNESS / min(steps, default=1.0), "saturation": 1, "errorbar": None, "legend": False}
    sns.barplot(rows, y="y", orient="h", native_scale=True, ax=axes, **options)
    axes.set(xlabel="", ylabel="", ylim=limits)


def write_text(axes, bar):
    """Write the text of a bar beside the panel or, without a value, in place of the bar."""
    if bar["value"] is None:
        axes.annotate(bar["text"], (0, bar["y"]), (2, 0), **TEXT, style="italic")
    else:
        axes.annotate(bar["text"], (1, bar["y"]), (3, 0), **TEXT, xycoords=("axes fraction", "data"))


def length(bar):
    """The length of a bar, including its dot."""
    return max(bar["value"], sum(value for value, _ in bar.get("parts", ())))


def have_converged(groups):
    """Whether all cases of some groups have converged."""
    return all(bar.get("converged", True) for _, bars in groups for bar in bars)


def panel_inches(groups):
    """The height of a panel with these groups."""
    return BAR_PITCH * sum(1 + len(bars) + GROUP_GAP for _, bars in groups)
