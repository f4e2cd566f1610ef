"""After how many products it has paid to send the matrix to ranks of MPI once: the time of each, its share included."""

import math

import numpy as np
import pandas as pd

from ladder.report.figures import layout, looks, marks, medians, scales
from ladder.workloads.gemv.paper import distributed, problem

TITLE = "After how many products ranks pay"
CATEGORY = "GEMV"
CAPTION = """\
Mean time of a product by the number of products of the same matrix: on one rank of MPI, on threads that share memory
(where these multiplied such a matrix), on several ranks to which the matrix is sent every time, and on several to
which it is sent once, a share of which is added to each product. Each line is the fastest case of its kind. A
vertical line marks the number of products from which ranks pay; where the times of a product can't be distinguished,
there is none. Markers: medians of the product alone with 95 % intervals, hollow if not converged.
"""
EXPERIMENTS = ("gemv_mpi", "gemv_threads")
HEIGHT = 2.2  # inches of a panel
MOST = 1000  # products, at least
KINDS = {
    "one": looks.Look("one rank", looks.COLOURS["red"], "o"),
    "shared": looks.Look("threads, shared memory", looks.COLOURS["green"], "s", (3, 1, 1, 1)),
    "ship": looks.Look("ranks, sent every time", looks.COLOURS["orange"], "^", (5, 1.5)),
    "resident": looks.Look("ranks, sent once", looks.COLOURS["blue"], "D"),
}
OTHERS = {"one": "one rank", "shared": "threads"}


def draw(tables):
    """A panel per machine and matrix: seconds of one of k products over k, and from which k on ranks pay."""
    frame = medians.samples(medians.joined(tables))
    passes = medians.samples(tables["gemv_mpi"], total=False)
    found = {}
    for name, problems in medians.by_machine(frame, medians.machines(*tables.values())).items():
        panels = [(row, distributed.contenders(rows)) for row, rows in problems]
        found[name] = [(row, cases) for row, cases in panels if "resident" in cases]
    found = {name: some for name, some in found.items() if some}
    if not found:
        return layout.empty("matrix-vector products on ranks")
    counts = {name: len(some) for name, some in found.items()}
    figure = layout.new(0.6 + HEIGHT * layout.rows_of_bands(counts))
    bands = layout.bands(figure, counts)
    for name, some in found.items():
        for axes, (row, cases) in zip(bands[name], some, strict=True):
            resident = cases["resident"].iloc[0]
            own = passes[(passes["machine"] == name) & (passes["variant"] == resident["variant"])]
            notes = fill(axes, cases, own[own["case"] == resident["case"]])
            axes.set_title("\n".join([problem.title(row), *notes]))
        bands[name][0].set_ylabel("time of a product")
    every = [rows for some in found.values() for _, cases in some for rows in cases.values()]
    names = {name for some in found.values() for _, cases in some for name in cases}
    layout.legend(
        figure,
        [layout.entry(look) for name, look in KINDS.items() if name in names],
        all(rows["converged"].all() for rows in every),
    )
    return figure


def fill(axes, cases, phases):
    """The lines of a matrix; the numbers of products after which ranks have paid, as text for the title."""
    sending = sum(distributed.spent(phases, "resident")[1].values())
    known = [name for name in OTHERS if name in cases]
    paid = {name: distributed.break_even(cases["resident"], phases, cases[name]) for name in known}
    last = max([MOST, *(10 * count for count in paid.values() if count and math.isfinite(count))])
    products = np.geomspace(1, last, 200)
    drawn, lines, ends = [], [], []
    for name, rows in cases.items():
        summary = medians.summaries(rows, ("case",))
        added = sending if name == "resident" else 0.0
        times = summary["median"].iloc[0] + added / products
        lines.append(pd.DataFrame({"method": name, "products": products, "time": times}))
        ends.append(summary.assign(method=name, products=last))
        drawn += [summary, summary.assign(median=times[0], low=times[0], high=times[0])]
    marks.lines(axes, pd.concat(lines), "products", "time", KINDS)
    marks.points(axes, pd.concat(ends), "products", "median", kinds=KINDS)
    scales.log_axis(axes.xaxis, (1, 1.5 * last), most=4)
    scales.time_axis(axes.yaxis, scales.extent(pd.concat(drawn), reach=1.5))
    for name, count in paid.items():
        if count and math.isfinite(count):
            height = cases[name]["seconds"].median()
            axes.plot([count] * 2, [axes.get_ylim()[0], height], color=KINDS[name].colour, linewidth=0.8)
    axes.set_xlabel("products of one matrix")
    axes.grid(axis="y")
    return [f"pays over {OTHERS[name]}: {since(count)}" for name, count in paid.items()]


def since(count):
    """From which product on."""
    if count is None:
        return "can't tell"
    return f"from {count:,} on" if math.isfinite(count) else "never"
