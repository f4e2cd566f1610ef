"""The layout of a figure: panels in bands, one band for each machine, and a legend below or beside them."""

import textwrap

from ladder.report.figures.looks import look
from ladder.report.figures.theme import DARK, MAX_HEIGHT, WIDTH, Figure, Line2D
from ladder.store import PUBLISHED_SUFFIX


def new_figure(height):
    """An empty figure as wide as the text; the height in inches is limited to MAX_HEIGHT."""
    return Figure(figsize=(WIDTH, min(height, MAX_HEIGHT)), layout="constrained")


def write_sentence(axes, sentence):
    """Write a sentence in the place of a drawing."""
    axes.set_axis_off()
    axes.text(0.5, 0.5, sentence, ha="center", va="center", color=DARK, wrap=True, transform=axes.transAxes)


def empty(subject):
    """A figure that says that there is no measurement for it."""
    figure = new_figure(0.5)
    write_sentence(figure.subplots(), f"There is no measurement of {subject}.")
    return figure


def bands(figure, counts, max_columns=3, inches=None, widths=None):
    """{machine: [axes]} for `counts`, {machine: number of panels}, with the machine's name above its panels.

    If every machine has one panel, up to `max_columns` of them are side by side; else they are below each other, with
    up to three panels in a row. Then `inches`, {machine: height}, are the ratios of their heights, by default the
    numbers of rows; `widths` are the ratios of the panels' widths in a row.
    """
    is_single = max(counts.values()) == 1
    columns = min(len(counts), max_columns) if is_single else 1
    inches = inches or {name: -(-count // 3) for name, count in counts.items()}
    heights = None if columns > 1 else list(inches.values())
    subfigures = figure.subfigures(-(-len(counts) // columns), columns, squeeze=False, height_ratios=heights)
    names, panels = wrap_names(counts, 84 // columns), {}
    for subfigure, name, (machine, count) in zip(subfigures.flat, names, counts.items(), strict=False):
        headline(subfigure, name)
        grid = subfigure.subplots(-(-count // 3), min(count, 3), squeeze=False, width_ratios=widths)
        panels[machine] = list(grid.flat[:count])
        for axes in grid.flat[count:]:
            axes.set_axis_off()
    return panels


def panels(groups, fill, inches, margin, max_columns=3):
    """A figure with a band per machine, and its axes as those of `bands`.

    `groups` is {machine: [arguments]}; `fill(axes, *arguments)` draws a panel. `inches` is the height of a row of
    panels, `margin` that of the rest of the figure.
    """
    counts = {name: len(panel_arguments) for name, panel_arguments in groups.items()}
    figure = new_figure(margin + inches * rows_of_bands(counts, max_columns))
    axes = bands(figure, counts, max_columns)
    for name, panel_arguments in groups.items():
        for panel, arguments in zip(axes[name], panel_arguments, strict=True):
            fill(panel, *arguments)
    return figure, axes


def wrap_names(names, width):
    """Names wrapped at `width` characters, all to the same number of lines, so that panels below them are level."""
    lines = [textwrap.fill(mark_published(name), width) for name in names]
    breaks = max(text.count("\n") for text in lines)
    return [text + "\n " * (breaks - text.count("\n")) for text in lines]


def headline(subfigure, machine):
    """Write a machine's name above its part of a figure."""
    subfigure.suptitle(mark_published(machine), x=0.01, ha="left", weight="bold")


def mark_published(text):
    """A text in which the paper's mark † replaces the suffix of published machines."""
    return text.replace(PUBLISHED_SUFFIX, "†")


def rows_of_bands(counts, max_columns=3):
    """The number of rows of panels in `bands`."""
    if max(counts.values()) == 1:
        return -(-len(counts) // max_columns)
    return sum(-(-count // 3) for count in counts.values())


def band_heights(counts, heights):
    """The height of all `bands` and {machine: height of its band}, from `heights`, {machine: height of a panel}."""
    if max(counts.values()) == 1:
        return max(heights.values()) * rows_of_bands(counts), heights
    heights = {name: inches * -(-counts[name] // 3) for name, inches in heights.items()}
    return sum(heights.values()), heights


def method_handle(method, with_line=True):
    """The legend's handle of a method."""
    return look_handle(look(method), with_line)


def look_handle(look, with_line=True):
    """The legend's handle of a Look."""
    return Line2D(
        [], [], color=look.colour, marker=look.marker, linestyle=look.linestyle if with_line else "", label=look.label
    )


def legend(figure, handles, converged=True, at_right=False):
    """Add the legend of a whole figure, below or beside it; unless all cases have `converged`, with a note on that."""
    if not converged:
        note = "hollow: not converged"
        handles = [*handles, Line2D([], [], color=DARK, marker="o", mfc="white", mew=0.9, linestyle="", label=note)]
    if not handles:
        return
    if at_right:
        figure.legend(handles=handles, loc="outside right center")
        return
    for columns in range(5, 0, -1):  # as many as fit
        rows = -(-len(handles) // columns)
        added = figure.legend(handles=handles, loc="outside lower center", ncols=-(-len(handles) // rows))
        if columns == 1 or added.get_window_extent().width <= figure.bbox.width:
            return
        added.remove()
