"""Every method's training by operation: the time of an epoch, and what share of it each operation takes.

On a GPU the data set stays on the card for all epochs, so that the copies there and back are in no epoch's time: they
are told apart from it, beside the bar.
"""

import pandas as pd
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from ladder.report.figures import bars, formats, layout, looks, marks, medians, methods, scales, theme
from ladder.workloads.mlp.paper import problem

TITLE = "All methods by operation"
CATEGORY = "MLP"
CAPTION = """\
All methods side by side: on the CPU with one thread and with the fastest number of threads, and on the GPU with
kernels launched one by one. Left: the time of an epoch, median with 95 % interval. Right: the share of each
operation, from medians of passes in which every operation was timed on its own; `forward`, `gradient` and `delta` are
the matrix products, by layer. Beside a bar, after a plus: copies between host and card, which happen once for all
epochs and are in no epoch's time.
"""
EXPERIMENTS = ("mlp_threads",)
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
COPIES = ("to device", "to host")
LINE = 0.175  # inches of a method


def draw(tables):
    """A part per machine and training: left the times on a logarithmic axis, right the shares as stacked bars."""
    tables = tables["mlp_threads"]
    totals, passes = medians.samples(tables), medians.samples(tables, total=False)
    found = []
    for name in medians.machines(tables):
        for row, rows in medians.problems(totals[totals["machine"] == name]):
            phases = passes[(passes["machine"] == name) & passes["case"].isin(rows["case"])]
            cases = chosen(medians.summaries(rows, ("method", "threads", "device")))
            found.append((name, row, cases, phases))
    if not found:
        return layout.empty("trainings")
    heights = [LINE * len(cases) + 0.65 for _, _, cases, _ in found]
    figure = layout.new(sum(heights) + 0.55)
    parts = figure.subfigures(len(found), 1, squeeze=False, height_ratios=heights)[:, 0]
    for part, (name, row, cases, phases) in zip(parts, found, strict=True):
        layout.headline(part, name)
        left, right = part.subplots(1, 2, sharey=True, width_ratios=(1, 1.9))
        fill_times(left, cases)
        left.set_title(problem.title(row).replace("\n", ", "))
        fill_shares(right, cases, phases)
    names = {name for *_, phases in found for name in phases["phase"]}
    handles = [Patch(facecolor=colour(name), label=name) for name in sorted(names - set(COPIES), key=rank)]
    if names & set(COPIES):
        once = "copies to and from the GPU, once for all epochs"
        handles.append(Line2D([], [], color=theme.DARK, marker="$+$", linestyle="", label=once))
    layout.legend(figure, handles, all(cases["converged"].all() for _, _, cases, _ in found))
    return figure


def chosen(summaries):
    """Each method with one thread, and with the number of threads that is fastest; on a GPU there are none."""
    rows = []
    for method in methods.ordered(summaries["method"]):
        some = summaries[summaries["method"] == method]
        rows.append(some[(some["threads"] == 1) | (some["median"] == some["median"].min())])
    return pd.concat(rows, ignore_index=True)


def fill_times(axes, cases):
    """Times of an epoch, a line each, with their numbers."""
    low, high = scales.extent(cases)
    scales.time_axis(axes.xaxis, (low / (high / low) ** 0.05, high * (high / low) ** 0.5), most=3)
    axes.set_yticks(range(len(cases)), [label(case) for case in cases.itertuples()])
    axes.set_ylim(len(cases) - 0.4, -0.6)
    marks.points(axes, cases.assign(at=cases.index), "median", "at", along="x")
    for at, median in enumerate(cases["median"]):
        note = {"xytext": (0, 0), "textcoords": "offset points", "xycoords": ("axes fraction", "data")}
        axes.annotate(formats.time(median), (1, at), **note, ha="right", va="center", fontsize=theme.SMALL)
    axes.grid(axis="x")
    axes.set_xlabel("time of an epoch")


def label(case):
    """A case by its method and where it worked."""
    where = formats.threads(case.threads) if case.device == "host" else "GPU"
    return f"{looks.look(case.method).label}, {where}"


def fill_shares(axes, cases, phases):
    """Stacked bars of the phases' medians as shares of their sum, numbers in those that have room for them.

    Copies between host and card have their time beside the bar.
    """
    times = [times_of(case, phases) for case in cases.itertuples()]
    parts = [shares(found[~found.index.isin(COPIES)]).assign(at=at) for at, found in enumerate(times)]
    bars.stacked(axes, pd.concat(parts, ignore_index=True))
    for at, (found, own) in enumerate(zip(times, parts, strict=True)):
        for part in own[own["value"] >= 6].itertuples():
            look = {"color": "white" if looks.is_dark(part.colour) else "black", "fontsize": theme.SMALL}
            axes.text(part.middle, at, f"{part.value:.0f}", ha="center", va="center", **look)
        if copies := found[found.index.isin(COPIES)].sum():
            axes.annotate(f"+ {formats.time(copies)}", (100, at), (3, 0), **bars.BESIDE)
    axes.set_xlim(0, 100)
    axes.set_xlabel("share of the operations' time (%)")
    axes.tick_params(axis="y", left=False, labelleft=False)
    axes.spines["left"].set_visible(False)


def times_of(case, phases):
    """Median seconds of a case's operations, in the order of a bar."""
    own = phases[(phases["method"] == case.method) & (phases["threads"] == case.threads)]
    found = own.groupby("phase")["seconds"].median()
    return found.reindex(sorted(found.index, key=rank))


def shares(times):
    """The parts of a bar: value and middle in percent of all, and colour."""
    value = 100 * times / times.sum()
    return pd.DataFrame(
        {"value": value, "middle": value.cumsum() - value / 2, "colour": [colour(name) for name in times.index]}
    )


def rank(phase):
    """Where an operation stands in a bar: products first, layer by layer."""
    kind, _, layer = phase.partition(" ")
    known = list(COLOURS)
    return known.index(kind) if kind in known else len(known), layer


def colour(phase):
    """An operation's colour."""
    kind, _, layer = phase.partition(" ")
    depth = int(layer or 1) - 1
    return looks.lighter(COLOURS.get(kind, theme.GREY), 0.15 + 0.85 * (1 - 0.5**depth))
