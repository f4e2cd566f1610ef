"""How products scale: rates by the cores of a host, and by cards that keep their rows."""

import pandas as pd

from ladder.report import rates
from ladder.report.figures import by_threads, layout, looks, medians
from ladder.report.figures.theme import Line2D
from ladder.report.study import values
from ladder.report.telling.lines import MAX, select
from ladder.workloads.gemv.paper import model

TITLE = "Matrix-vector products by threads, ranks and cards"
CATEGORY = "GEMV"
CAPTION = """\
Rates of products. Left by the cores of the host: threads that share a matrix, and ranks, to which it is sent with every
product or once before. Right by the cards of the machine with most of them, which keep their rows. The wide line is the
bandwidth of as many threads or cards. Medians with 95 % intervals, hollow if not converged.
"""
EXPERIMENTS = ("gemv_threads", "gemv_mpi", "gemv_gpu", "gemv_cards", "gemv_cards_large")
USES_CEILINGS = True
HEIGHT = 2.3  # inches of a panel
PANEL = 1.6  # and of what is drawn in it
# Lines by the key of the rung whose tuning they have, but for the number of threads or ranks.
HOST = {
    "openmp": looks.Look("openmp", looks.COLOURS["red"], "o"),
    "spread": looks.Look("openmp_bound, spread", looks.COLOURS["orange"], "o"),
    "blas": looks.Look("blas", looks.COLOURS["blue"], "o"),
}
RANKS = {
    "ship": looks.Look("mpi, ship", looks.COLOURS["pink"], "o", (4, 1.5)),
    "resident": looks.Look("mpi, resident", looks.COLOURS["pink"], "o"),
    "hybrid": looks.Look("mpi_openmp, resident", looks.COLOURS["sky"], "o"),
}
CARDS = {
    "graph": looks.Look("nccl_cublas, graph", looks.COLOURS["indigo"], "o"),
    "nccl": looks.Look("nccl_cublas", looks.COLOURS["indigo"], "o", (4, 1.5)),
    "mpi": looks.Look("mpi_cublas", looks.COLOURS["sky"], "o", (4, 1.5)),
}


def draw(study):
    """A panel of the host and one of the cards."""
    host, widest = study.machine("host"), study.machine("widest")
    lines = along(study, "threads", HOST) | along(study, "ranks", RANKS)
    panels = [
        (host.subject, lines, HOST | RANKS, "cores", rates.bandwidths(host)),
        (widest.subject, along(study, "most cards", CARDS), CARDS, "cards", memory_of_cards(study)),
    ]
    panels = [panel for panel in panels if panel[1]]
    if not panels:
        return layout.empty("matrix-vector products on threads, ranks and cards")
    figure, converged = layout.new(HEIGHT + 0.55), []
    parts = figure.subfigures(1, len(panels), squeeze=False)[0]
    for part, (machine, *panel) in zip(parts, panels, strict=True):
        layout.headline(part, machine)
        converged.append(fill(part.subplots(), *panel))
    layout.legend(figure, [Line2D([], [], **by_threads.CEILING, label="bandwidth")], all(converged))
    return figure


def along(study, source, kinds):
    """{key: rows of a line on every number of threads or ranks} of those that were measured."""
    found, frame = {}, study.frame(source)
    for key in kinds:
        free = [name for name, value in study.line(key).tuning.items() if value == MAX]
        counts = {tuple(row) for row in frame[free].dropna().to_numpy()} if {*free} <= {*frame.columns} else ()
        every = [study.find(select(key, source, **dict(zip(free, count, strict=True)))) for count in counts]
        if rows := [one for one in every if len(one)]:
            found[key] = pd.concat(rows)
    return found


def summaries(rows, key):
    """A summary for each number of cores or cards in GB/s."""
    rows = rows.assign(method=key, at=[on_cores(row) for row in rows.to_dict("records")])
    found = medians.one_each(medians.summaries(rows, ("method", "at")), ("method", "at"))
    return medians.rates(found, rows["bytes"].iloc[0] / 1e9)


def on_cores(row):
    """The cards of a case, or its cores."""
    return int(row["ranks"]) if row["device"] == "mpi_cuda" else model.cores(row)


def memory_of_cards(study):
    """B/s of the memory of one card and of the most."""
    rate = rates.card_bandwidth(study.machine("widest"))
    most = max(values(study.frame("most cards"), "ranks"), default=0)
    return {count: count * rate for count in (1, most)} if rate else {}


def fill(axes, lines, kinds, what, ceiling):
    """Rates by cores or cards, lines named where they end; whether all cases have converged."""
    found = pd.concat([summaries(rows, key) for key, rows in lines.items()])
    counts = set(found["at"])
    ceiling = {count: rate / 1e9 for count, rate in ceiling.items() if count in counts}
    by_threads.fill_rates(axes, found, "at", kinds, ceiling, PANEL)
    axes.set_title("GB/s")
    axes.set_xlabel(what)
    return bool(found["converged"].all())
