"""The frame of a figure: panels in bands, one band a machine, and the legend below them or beside."""

import textwrap

from ladder.report.figures.looks import look
from ladder.report.figures.theme import DARK, TALLEST, WIDTH, Figure, Line2D
from ladder.store import PUBLISHED


def new(height):
    """An empty figure of the text's width; height in inches, at most TALLEST, beyond which panels shrink."""
    return Figure(figsize=(WIDTH, min(height, TALLEST)), layout="constrained")


def blank(axes, sentence):
    """Say in place of a drawing why there is none."""
    axes.set_axis_off()
    axes.text(0.5, 0.5, sentence, ha="center", va="center", color=DARK, wrap=True, transform=axes.transAxes)


def empty(what):
    """A figure that says that nothing of it was measured."""
    figure = new(0.5)
    blank(figure.subplots(), f"There is no measurement of {what}.")
    return figure


def bands(figure, counts, beside=3, inches=None, widths=None):
    """Axes per machine: {machine: [axes]} for {machine: number of panels}, the machine's name above its panels.

    Machines stand side by side, up to `beside` of them, where none has more than one panel; else below each other, up
    to three panels in a row. Where they do, `inches`, by machine, says how the height is shared if not by rows;
    `widths` says how a row's panels share the width.
    """
    narrow = max(counts.values()) == 1
    columns = min(len(counts), beside) if narrow else 1
    inches = inches or {name: -(-count // 3) for name, count in counts.items()}
    heights = None if columns > 1 else list(inches.values())
    parts = figure.subfigures(-(-len(counts) // columns), columns, squeeze=False, height_ratios=heights)
    names, panels = wrapped(counts, 84 // columns), {}
    for part, name, (machine, count) in zip(parts.flat, names, counts.items(), strict=False):
        headline(part, name)
        grid = part.subplots(-(-count // 3), min(count, 3), squeeze=False, width_ratios=widths)
        panels[machine] = list(grid.flat[:count])
        for axes in grid.flat[count:]:
            axes.set_axis_off()
    return panels


def panels(groups, fill, inches, around, beside=3):
    """A figure of a band per machine, {machine: [arguments of `fill(axes, ...)`]}, and its axes as those of `bands`.

    `inches` is the height of a row of panels, `around` what the figure takes besides.
    """
    counts = {name: len(every) for name, every in groups.items()}
    figure = new(around + inches * rows_of_bands(counts, beside))
    axes = bands(figure, counts, beside)
    for name, every in groups.items():
        for panel, arguments in zip(axes[name], every, strict=True):
            fill(panel, *arguments)
    return figure, axes


def wrapped(names, width):
    """Names in lines of so many characters, in equally many lines, so that what stands below them is level."""
    lines = [textwrap.fill(marked(name), width) for name in names]
    breaks = max(text.count("\n") for text in lines)
    return [text + "\n " * (breaks - text.count("\n")) for text in lines]


def headline(part, machine):
    """The machine's name above its part of a figure."""
    part.suptitle(marked(machine), x=0.01, ha="left", weight="bold")


def marked(text):
    """A text with a machine's name, a mark behind one that is published, as in the paper."""
    return text.replace(PUBLISHED, "†")


def rows_of_bands(counts, beside=3):
    """How many rows of panels `bands` makes."""
    if max(counts.values()) == 1:
        return -(-len(counts) // beside)
    return sum(-(-count // 3) for count in counts.values())


def shared_height(counts, tall):
    """The inches of a figure of `bands`, and how they are shared, from those of a panel of each machine."""
    if max(counts.values()) == 1:
        return max(tall.values()) * rows_of_bands(counts), tall
    tall = {name: inches * -(-counts[name] // 3) for name, inches in tall.items()}
    return sum(tall.values()), tall


def handle(method, line=True):
    """A method's entry in a legend."""
    return entry(look(method), line)


def entry(kind, line=True):
    """The entry of a look in a legend."""
    return Line2D(
        [], [], color=kind.colour, marker=kind.marker, linestyle=kind.linestyle if line else "", label=kind.label
    )


def legend(figure, handles, converged=True, beside=False):
    """The legend of a whole figure, below it or beside it, with a note on hollow markers where there are any."""
    if not converged:
        note = "hollow: not converged"
        handles = [*handles, Line2D([], [], color=DARK, marker="o", mfc="white", mew=0.9, linestyle="", label=note)]
    if not handles:
        return
    if beside:
        figure.legend(handles=handles, loc="outside right center")
        return
    for columns in range(5, 0, -1):  # as many as have room
        rows = -(-len(handles) // columns)
        placed = figure.legend(handles=handles, loc="outside lower center", ncols=-(-len(handles) // rows))
        if columns == 1 or placed.get_window_extent().width <= figure.bbox.width:
            return
        placed.remove()
