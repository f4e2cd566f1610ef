"""Heat maps of a rate by two properties of a case, for tilings and other tunings."""

import pandas as pd

from ladder.report.figures import bars, formats, layout, looks
from ladder.report.figures.theme import SMALL, sns

INCHES = 0.15  # height of a row


def figure(panels, around):
    """Panels of cells, {machine: [(title, groups)]}, where `groups` are [(method, table of rates)] from the top down.

    A table's index is read downwards, its columns along. A cell is the darker the nearer it is to the best of its
    column; a case that isn't there leaves a gap. `around` are the inches that a panel needs above and below its cells.
    """
    counts = {name: len(blocks) for name, blocks in panels.items()}
    tall = {name: max(INCHES * rows(groups) for _, groups in blocks) + around for name, blocks in panels.items()}
    height, tall = layout.shared_height(counts, tall)
    drawn = layout.new(0.1 + height)
    bands = layout.bands(drawn, counts, inches=tall)
    for name, blocks in panels.items():
        height_in_rows = max(rows(groups) for _, groups in blocks)
        for axes, (title, groups) in zip(bands[name], blocks, strict=True):
            fill(axes, groups)
            axes.set_ylim(height_in_rows, 0)  # rows of the same height
            axes.set_title(title)
    return drawn


def fill(axes, groups):
    """The cells of a panel, each method's name above its own."""
    table = pd.concat([part for method, rates in groups for part in (rates.iloc[:0].reindex([method]), rates)])
    text = table.map(lambda rate: "" if pd.isna(rate) else formats.three(rate))
    colours = {"cmap": sns.light_palette(looks.COLOURS["blue"], as_cmap=True), "vmin": 0, "vmax": 1}
    numbers = {"annot": text, "fmt": "", "annot_kws": {"size": SMALL}}
    sns.heatmap(table / table.max(), **colours, **numbers, cbar=False, linewidths=0.6, ax=axes)
    axes.set_facecolor("none")
    heads = [at for at, name in enumerate(table.index) if name in dict(groups)]
    for at in heads:
        name = looks.look(table.index[at]).label
        axes.annotate(name, (0, at + 0.5), (2, 0), **bars.BESIDE, xycoords=("axes fraction", "data"))
    others = [at for at in range(len(table)) if at not in heads]
    axes.set_yticks([at + 0.5 for at in others], [table.index[at] for at in others], rotation=0)
    axes.tick_params(length=0)
    axes.set(xlabel="", ylabel="")


def rows(groups):
    """The number of rows of a panel, the methods' names among them."""
    return sum(1 + len(table) for _, table in groups)
