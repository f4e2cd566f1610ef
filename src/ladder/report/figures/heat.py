"""Heat maps of a rate by two properties of a case, for tilings and other tunings."""

from ladder.report.figures import formats, layout
from ladder.report.figures.theme import SMALL, sns

INCHES = 0.16  # height of a row


def figure(found, unit, shared, around=0.75):
    """Panels of cells, {machine: [(title, table)]}: a table's index is read downwards, its columns along.

    `shared` gives from a table what its colours are of, shares of 1; the cells have the numbers, in `unit`. A case that
    isn't there leaves a gap.
    """
    counts = {name: len(some) for name, some in found.items()}
    tall = {name: INCHES * max(len(table) for _, table in some) + around for name, some in found.items()}
    height, tall = layout.shared_height(counts, tall)
    drawn = layout.new(0.1 + height)
    bands = layout.bands(drawn, counts, inches=tall)
    for name, some in found.items():
        for axes, (title, table) in zip(bands[name], some, strict=True):
            cells(axes, table, shared(table))
            axes.set_title(f"{title}, {unit}")
    return drawn


def cells(axes, table, shares):
    """A cell per number, the darker the larger its share."""
    text = table.map(lambda value: "" if value != value else formats.three(value))
    look = {"cmap": sns.light_palette("#0173b2", as_cmap=True), "vmin": 0, "vmax": 1, "linewidths": 0.6}
    sns.heatmap(shares, annot=text, fmt="", annot_kws={"size": SMALL}, cbar=False, ax=axes, **look)
    axes.tick_params(length=0)
    axes.tick_params(axis="y", rotation=0)
    axes.set(xlabel="", ylabel="")
