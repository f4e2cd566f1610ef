"""Where the time of the training goes: a batch by operation, on one thread, on several, and on the GPU."""

import pandas as pd

from ladder.report.figures import bars, formats, layout, looks, theme
from ladder.report.figures.theme import Patch
from ladder.report.study import middle
from ladder.report.telling.chapter_study import parts
from ladder.report.telling.lines import select
from ladder.workloads.mlp.paper import text
from ladder.workloads.mlp.paper.lines import GPU_PRODUCTS, PRODUCTS

TITLE = "Where the time of the training goes"
CATEGORY = "MLP"
CAPTION = """\
The time of a batch by operation, for trainings with different products. `forward`, `gradient` and `delta` are products,
those of the larger layer darker. Grey bars are not divided: a graph has no parts, and operations timed one by one may
add up to less than a call that waits for launches. Beside: the time of the call.
"""
EXPERIMENTS = ("mlp_threads", "mlp_gpu")
# Products have a colour each, lighter from layer to layer; what isn't listed is grey.
COLOURS = {
    "forward": looks.COLOURS["blue"],
    "gradient": looks.COLOURS["green"],
    "delta": looks.COLOURS["pink"],
    "activation": looks.COLOURS["orange"],
    "update": looks.COLOURS["red"],
    "bias": looks.COLOURS["brown"],
    "gather": looks.COLOURS["yellow"],
    "loss": looks.COLOURS["sky"],
}
UNDIVIDED = looks.lighter(theme.GREY, 0.4)
LINE = 0.17  # inches of a bar
AROUND = 0.62  # and of a panel above and below its bars


def draw(study):
    """Up to three panels: the host's below each other, the GPU's beside them."""
    on_host = [(title, calls) for title, calls in by_threads(study).items() if calls]
    on_gpu = by_graph(study)
    if not on_host and not on_gpu:
        return layout.empty("the training by operation")
    inches = [sum(LINE * len(calls) + AROUND for _, calls in on_host), LINE * len(on_gpu) + AROUND]
    figure = layout.new(max(inches) + 0.35)
    columns = figure.subfigures(1, bool(on_host) + bool(on_gpu), squeeze=False)[0]
    if on_host:
        layout.headline(columns[0], study.machine("host").subject)
        panels = columns[0].subplots(len(on_host), 1, squeeze=False)[:, 0]
        for axes, (title, calls) in zip(panels, on_host, strict=True):
            fill(axes, calls, title)
    if on_gpu:
        layout.headline(columns[-1], study.machine("card").subject)
        fill(columns[-1].subplots(), on_gpu, "on the GPU")
    shown = {part for _, calls in [*on_host, ("", on_gpu)] for *_, times in calls for part in times}
    handles = [Patch(facecolor=colour(part), label=part) for part in sorted(shown, key=rank)]
    layout.legend(figure, [*handles, Patch(facecolor=UNDIVIDED, label="call, not divided")])
    return figure


def by_threads(study):
    """{title: bars} of the host: on one thread and on several, if these are more."""
    counts = dict.fromkeys([1, text.best_threads(study)]) if len(study.frame("training")) else ()
    return {
        formats.threads(count): bars_of(study, {name: select(f"training/{name}", threads=count) for name in PRODUCTS})
        for count in counts
    }


def by_graph(study):
    """The bars of the GPU: launched one by one, and as a graph."""
    forms = ("off", "one by one"), ("on", "graph")
    selections = {
        f"{name}, {words}": select(f"training/{name}", graph=graph) for graph, words in forms for name in GPU_PRODUCTS
    }
    return bars_of(study, selections)


def bars_of(study, selections):
    """[(label, seconds of a batch, its operations)] of the trainings that were measured."""
    measured = {label: (one, rows) for label, one in selections.items() if len(rows := study.find(one))}
    return [(label, middle(rows), parts(rows, study.phases(one))) for label, (one, rows) in measured.items()]


def fill(axes, calls, title):
    """Stacked bars from the top down, with the time of the call beside each."""
    parts = [
        {"at": at, "value": 1e3 * time, "colour": colour(part)}
        for at, (_, whole, known) in enumerate(calls)
        for part, time in sorted(known.items(), key=lambda one: rank(one[0]))
    ]
    parts += [
        {"at": at, "value": 1e3 * whole, "colour": UNDIVIDED} for at, (_, whole, known) in enumerate(calls) if not known
    ]
    bars.stacked(axes, pd.DataFrame(parts).sort_values("at", kind="stable"))
    for at, (_, whole, _) in enumerate(calls):
        axes.annotate(formats.time(whole), (1, at), (3, 0), **bars.BESIDE, xycoords=("axes fraction", "data"))
    axes.set_yticks(range(len(calls)), [label for label, *_ in calls])
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(len(calls) - 0.4, -0.6)
    axes.set_title(title)
    axes.set_xlabel("time of a batch (ms)")
    axes.grid(axis="x")


def rank(part):
    """Where an operation stands in a bar: products first, layer by layer."""
    kind, _, layer = part.partition(" ")
    known = list(COLOURS)
    return known.index(kind) if kind in known else len(known), layer


def colour(part):
    """An operation's colour."""
    kind, _, layer = part.partition(" ")
    return looks.lighter(COLOURS.get(kind, theme.GREY), 0.1 + 0.85 * (1 - 0.5 ** (int(layer or 1) - 1)))
