"""Heat maps of a rate by two of a case's sizes and tunings, such as its form and its tiling."""

import pandas as pd

from ladder.report.figures import bars, formats, layout, looks
from ladder.report.figures.theme import SMALL, sns

ROW_HEIGHT = 0.15  # inches


def figure(panels, margin):
    """The figure of panels of cells, {machine: [(title, groups)]}; `groups` are [(method, table of rates)], downwards.

    A table's index is the y axis, its columns the x axis. A cell is darker the nearer its rate is to the best of its
    column; a missing case leaves a gap. `margin` are the inches that a panel needs above and below its cells.
    """
    counts = {name: len(blocks) for name, blocks in panels.items()}
    heights = {
        name: max(ROW_HEIGHT * row_count(groups) for _, groups in blocks) + margin for name, blocks in panels.items()
    }
    height, heights = layout.band_heights(counts, heights)
    figure = layout.new_figure(0.1 + height)
    bands = layout.bands(figure, counts, inches=heights)
    for name, blocks in panels.items():
        max_rows = max(row_count(groups) for _, groups in blocks)
        for axes, (title, groups) in zip(bands[name], blocks, strict=True):
            fill(axes, groups)
            axes.set_ylim(max_rows, 0)  # so that rows are equally high in all panels of a machine
            axes.set_title(title)
    return figure


def fill(axes, groups):
    """Draw the cells of a panel, each method's name above its cells."""
    table = pd.concat([part for method, rates in groups for part in (rates.iloc[:0].reindex([method]), rates)])
    text = table.map(lambda rate: "" if pd.isna(rate) else formats.three_digits(rate))
    colours = {"cmap": sns.light_palette(looks.COLOURS["blue"], as_cmap=True), "vmin": 0, "vmax": 1}
    numbers = {"annot": text, "fmt": "", "annot_kws": {"size": SMALL}}
    sns.heatmap(table / table.max(), **colours, **numbers, cbar=False, linewidths=0.6, ax=axes)
    axes.set_facecolor("none")
    head_indices = [index for index, name in enumerate(table.index) if name in dict(groups)]
    for index in head_indices:
        name = looks.look(table.index[index]).label
        axes.annotate(name, (0, index + 0.5), (2, 0), **bars.TEXT, xycoords=("axes fraction", "data"))
    cell_indices = [index for index in range(len(table)) if index not in head_indices]
    axes.set_yticks([index + 0.5 for index in cell_indices], [table.index[index] for index in cell_indices], rotation=0)
    axes.tick_params(length=0)
    axes.set(xlabel="", ylabel="")


def row_count(groups):
    """The number of rows of a panel, including those of the methods' names."""
    return sum(1 + len(table) for _, table in groups)
