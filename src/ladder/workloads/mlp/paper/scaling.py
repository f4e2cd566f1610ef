"""How products and the training scale with threads: on the chapter's host, and on the one with most threads."""

from ladder.report import study
from ladder.report.figures import by_threads, layout, looks, medians, peaks
from ladder.report.figures.theme import Line2D
from ladder.report.study import Study
from ladder.workloads.gemm.paper.ceilings import products
from ladder.workloads.mlp.paper import query

TITLE = "Products and training by threads"
CATEGORY = "MLP"
CAPTION = """\
Rates by threads. Left: the forward product of the network's larger layer. Middle and right: the training by whose
products it takes, on the chapter's host and on the machine with most threads. Medians with 95 % intervals, hollow if
not converged.
"""
EXPERIMENTS = ("gemm_threads", "mlp_threads", "mlp_gpu")
USES_CEILINGS = True
HEIGHT = 1.85  # inches of a panel
PANEL = 1.1  # and of what is drawn in it
COLOURS = {"openmp": "red", "interchanged": "orange", "tiled": "green", "blas": "blue"}
LINES = {name: looks.Look(name, looks.COLOURS[colour], "o") for name, colour in COLOURS.items()}


def draw(tables, ceilings):
    """Up to three panels."""
    host, _ = query.shown(tables)
    found = panels(host, query.widest(Study(tables, None)))
    if not found:
        return layout.empty("products and the training by threads")
    figure = layout.new(HEIGHT)
    every = figure.subplots(1, len(found), squeeze=False)[0]
    for axes, (title, machine, rows) in zip(every, found, strict=True):
        fill(axes, rows, ceilings.get(machine, peaks.NONE))
        axes.set_title(f"{layout.marked(machine)}\n{title}")
    every[0].set_ylabel("GFLOP/s")
    entries = [Line2D([], [], **by_threads.CEILING, label="best product on as many threads")]
    layout.legend(figure, entries, all(rows["converged"].all() for *_, rows in found))
    return figure


def panels(host, widest):
    """[(title, machine, rates)] of what was measured."""
    several = [
        (host, query.PRODUCTS, "product"),
        (host, query.THREADS, "training"),
        (widest if widest and widest.found.subject != host.found.subject else None, query.THREADS, "training"),
    ]
    found = [(title, one.found.subject, rates(one, experiment)) for one, experiment, title in several if one]
    return [(title, machine, rows) for title, machine, rows in found if len(rows)]


def rates(machine, experiment):
    """A row for each line and number of threads, in GFLOP/s."""
    rows = machine.samples(experiment, device="host")
    if rows.empty:
        return rows
    method = rows["product"] if experiment == query.THREADS else rows["variant"]
    rows = rows.assign(method=method)
    rows = rows[rows["method"].isin(LINES)]
    found = medians.one_each(medians.summaries(rows, ("method", "threads", "flops")), ("method", "threads"))
    return medians.rates(found, found["flops"] / 1e9)


def fill(axes, found, ceilings):
    """Rates by threads, lines named where they end, and the best product."""
    counts = study.values(found, "threads")
    best = {count: rate / 1e9 for count in counts if (rate := products(ceilings, "float64", count))}
    by_threads.fill_rates(axes, found, "threads", LINES, best, PANEL)
    axes.set_xlabel("threads")
