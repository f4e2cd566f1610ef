"""After how many products it has paid to send the matrix to ranks of MPI once: the time of each, its share included."""

import math

import numpy as np
import pandas as pd
from matplotlib.lines import Line2D

from ladder.report import distributed
from ladder.report.figures import medians, style

TITLE = "After how many products ranks pay"
CATEGORY = "GEMV"
EXPERIMENTS = ("gemv_mpi", "gemv_threads")
HEIGHT = 2.2  # inches of a panel
MOST = 1000  # products, at least
LOOKS = {
    "one": style.Look("one rank", style.RED, "o"),
    "shared": style.Look("threads, shared memory", style.GREEN, "s", (0, (3, 1, 1, 1))),
    "ship": style.Look("ranks, sent every time", style.ORANGE, "^", (0, (5, 1.5))),
    "resident": style.Look("ranks, sent once", style.BLUE, "D"),
}
OTHERS = {"one": "one rank", "shared": "threads"}


def draw(tables):
    """A panel per machine and matrix: seconds of one of k products over k, and from which k on ranks pay."""
    frame = medians.samples({"samples": pd.concat([table["samples"] for table in tables.values()])})
    passes = medians.samples(tables["gemv_mpi"], total=False)
    found = {}
    for name, problems in medians.by_machine(frame, medians.machines(*tables.values())).items():
        panels = [(row, distributed.contenders(rows)) for row, rows in problems]
        found[name] = [(row, cases) for row, cases in panels if "resident" in cases]
    found = {name: some for name, some in found.items() if some}
    if not found:
        return style.empty("matrix-vector products on ranks")
    counts = {name: len(some) for name, some in found.items()}
    figure = style.new(0.6 + HEIGHT * style.rows_of_bands(counts))
    bands = style.bands(figure, counts)
    for name, some in found.items():
        for axes, (row, cases) in zip(bands[name], some, strict=True):
            resident = cases["resident"].iloc[0]
            own = passes[(passes["machine"] == name) & (passes["variant"] == resident["variant"])]
            notes = fill(axes, cases, own[own["case"] == resident["case"]])
            axes.set_title("\n".join([medians.vector_product(row), *notes]))
        bands[name][0].set_ylabel("time of a product")
    every = [rows for some in found.values() for _, cases in some for rows in cases.values()]
    names = {name for some in found.values() for _, cases in some for name in cases}
    style.legend(
        figure,
        [entry(look) for name, look in LOOKS.items() if name in names],
        all(rows["converged"].all() for rows in every),
    )
    return figure


def fill(axes, cases, phases):
    """The lines of a matrix; the numbers of products after which ranks have paid, in words."""
    sending = sum(distributed.spent(phases, "resident")[1].values())
    known = [name for name in OTHERS if name in cases]
    paid = {name: distributed.break_even(cases["resident"], phases, cases[name]) for name in known}
    last = max([MOST, *(10 * count for count in paid.values() if count and math.isfinite(count))])
    products = np.geomspace(1, last, 200)
    drawn = []
    for name, rows in cases.items():
        summary, look = medians.summaries(rows, ("case",)), LOOKS[name]
        added = sending if name == "resident" else 0.0
        times = summary["median"].iloc[0] + added / products
        axes.plot(products, times, color=look.colour, linestyle=look.dashes)
        style.points(axes, [last], summary["median"], summary, look)
        drawn += [summary, summary.assign(median=times[0], low=times[0], high=times[0])]
    style.log_axis(axes.xaxis, (1, 1.5 * last), most=4)
    style.time_axis(axes.yaxis, style.extent(pd.concat(drawn), reach=1.5))
    for name, count in paid.items():
        if count and math.isfinite(count):
            height = cases[name]["seconds"].median()
            axes.plot([count] * 2, [axes.get_ylim()[0], height], color=LOOKS[name].colour, linewidth=0.8)
    axes.set_xlabel("products of one matrix")
    axes.grid(axis="y")
    return [f"pays over {OTHERS[name]}: {words(count)}" for name, count in paid.items()]


def words(count):
    """From which product on."""
    if count is None:
        return "can't tell"
    return f"from {count:,} on" if math.isfinite(count) else "never"


def entry(look):
    """A line's entry in the legend."""
    return Line2D([], [], color=look.colour, marker=look.marker, linestyle=look.dashes, label=look.label)
