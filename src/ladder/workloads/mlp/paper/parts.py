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
    columns = {"host": by_threads(study), "card": {"on the GPU": by_graph(study)}}
    columns = {role: {title: calls for title, calls in panels.items() if calls} for role, panels in columns.items()}
    columns = {role: panels for role, panels in columns.items() if panels}
    if not columns:
        return layout.empty("the training by operation")
    heights = [sum(LINE * len(calls) + AROUND for calls in panels.values()) for panels in columns.values()]
    figure = layout.new(0.35 + max(heights))
    for part, (role, panels) in zip(figure.subfigures(1, len(columns), squeeze=False)[0], columns.items(), strict=True):
        layout.headline(part, study.machine(role).subject)
        for axes, title in zip(part.subplots(len(panels), squeeze=False)[:, 0], panels, strict=True):
            fill(axes, panels[title], title)
    every = [times for panels in columns.values() for calls in panels.values() for *_, times in calls]
    handles = [Patch(facecolor=colour(part), label=part) for part in sorted(set().union(*every), key=rank)]
    layout.legend(figure, [*handles, Patch(facecolor=UNDIVIDED, label="call, not divided")])
    return figure


def by_threads(study):
    """{title: bars} of the host: on one thread and on several, if these are more."""
    counts = dict.fromkeys([1, text.best_threads(study)]) if len(study.frame("training")) else ()
    cases = {count: {name: select(f"training/{name}", threads=count) for name in PRODUCTS} for count in counts}
    return {formats.threads(count): bars_of(study, selections) for count, selections in cases.items()}


def by_graph(study):
    """The bars of the GPU: launched one by one, and as a graph."""
    forms = [(name, *form) for form in (("off", "one by one"), ("on", "graph")) for name in GPU_PRODUCTS]
    return bars_of(study, {f"{name}, {words}": select(f"training/{name}", graph=graph) for name, graph, words in forms})


def bars_of(study, selections):
    """[(label, seconds of a batch, its operations)] of the trainings that were measured."""
    cases = {label: (side, rows) for label, side in selections.items() if len(rows := study.find(side))}
    return [(label, middle(rows), parts(rows, study.phases(side))) for label, (side, rows) in cases.items()]


def fill(axes, calls, title):
    """Stacked bars from the top down, with the time of the call beside each."""
    stacked = [
        {"at": at, "value": 1e3 * time, "colour": colour(part) if part else UNDIVIDED}
        for at, (_, whole, times) in enumerate(calls)
        for part, time in sorted((times or {"": whole}).items(), key=lambda operation: rank(operation[0]))
    ]
    bars.stacked(axes, pd.DataFrame(stacked))
    for at, (_, whole, _) in enumerate(calls):
        axes.annotate(formats.time(whole), (1, at), (3, 0), **bars.BESIDE, xycoords=("axes fraction", "data"))
    axes.set_yticks(range(len(calls)), [label for label, *_ in calls])
    axes.tick_params(axis="y", length=0)
    axes.set(ylim=(len(calls) - 0.4, -0.6), title=title, xlabel="time of a batch (ms)")
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
