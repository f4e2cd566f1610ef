"""Time and speed-up of the training's products, by form, library and number of threads."""

import pandas as pd

from ladder.report.figures import layout, line_names, marks, medians, scales
from ladder.report.figures.by_threads import CEILING
from ladder.report.figures.looks import COLOURS, Look
from ladder.report.figures.theme import Line2D
from ladder.store.study import values
from ladder.workloads.mlp.paper.claims import PHASES, deep_net

TITLE = "Products and training by threads"
CAPTION = """\
A batch of the deep network, and all of its products of each form, by number of threads. Above: time, medians with 95 %
intervals, hollow if not converged. Below: speed-up over one thread; the wide line is the ideal speed-up.
"""
EXPERIMENTS = ("mlp_deep",)
LOOKS = {
    name: Look(name, COLOURS[colour], marker)
    for name, colour, marker in (("nn", "blue", "o"), ("tn", "green", "s"), ("nt", "pink", "^"), ("whole", "grey", "D"))
}
PRODUCTS = {"openmp": "OpenMP loops", "blas": "OpenBLAS"}
HEIGHT = 1.35  # inches of a panel


def draw(study):
    """Two panels for each product: time above speed-up."""
    cases = {name: rows for name in PRODUCTS if len(rows := summaries(study, name))}
    if not cases:
        return layout.empty("the training by threads")
    figure = layout.new_figure(2 * HEIGHT + 1.1)
    layout.headline(figure, study.machine("host").machine_name)
    panels = figure.subplots(2, len(cases), squeeze=False)
    for name, (time, speedup) in zip(cases, panels.T, strict=True):
        fill(time, cases[name], f"{PRODUCTS[name]}: time of a batch", scales.time_axis)
        if len(gains := speedups_over_one_thread(cases[name])):
            counts = sorted(set(gains["threads"]))
            speedup.plot(counts, counts, **CEILING, zorder=1)
            fill(speedup, gains, f"{PRODUCTS[name]}: speed-up", scales.log_axis)
        speedup.set_xlabel("threads")
    converged = all(rows["converged"].all() for rows in cases.values())
    layout.legend(figure, [Line2D([], [], **CEILING, label="ideal")], converged)
    return figure


def summaries(study, product):
    """The times of all forms, and of the whole batch, on all numbers of threads."""
    rows = [
        study.find(deep_net(product, count).phase(*PHASES[name])).assign(method=name, threads=count)
        for count in values(study.frame("deep"), "threads")
        for name in LOOKS
    ]
    return medians.summaries(pd.concat(measured)) if (measured := list(filter(len, rows))) else pd.DataFrame()


def speedups_over_one_thread(cases):
    """The summaries as speed-ups over the median on one thread; none without it."""
    single = cases[cases["threads"] == 1].set_index("method")["median"]
    base = cases["method"].map(single)
    gains = cases.assign(median=base / cases["median"], low=base / cases["high"], high=base / cases["low"])
    return gains[base.notna()]


def fill(axes, cases, title, scale_axis):
    """The lines of a panel, named where they end."""
    marks.curves(axes, cases, "threads", LOOKS, size=9)
    scales.thread_axis(axes.xaxis, sorted(set(cases["threads"])))
    scale_axis(axes.yaxis, scales.extent(cases, max_factor=1.3), max_ticks=6)
    line_names.label_lines(axes, cases, "threads", LOOKS, HEIGHT)
    axes.set_title(title)
    axes.grid(axis="y")
