"""Every method's training by operation: the time of an epoch, and what share of it each operation takes.

On a GPU the data set stays on the card for all epochs, so that the copies there and back are in no epoch's time: they
are told apart from it, beside the bar.
"""

import pandas as pd
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from ladder.report.figures import medians, style

TITLE = "All methods by operation"
CATEGORY = "MLP"
EXPERIMENTS = ("mlp_threads",)
# Products have a colour each, lighter from layer to layer; what isn't listed is grey.
COLOURS = {
    "forward": style.BLUE,
    "gradient": style.GREEN,
    "delta": style.PINK,
    "activation": style.ORANGE,
    "update": style.RED,
    "bias": style.BROWN,
    "gather": style.YELLOW,
    "loss": style.SKY,
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
        return style.empty("trainings")
    heights = [LINE * len(cases) + 0.65 for _, _, cases, _ in found]
    figure = style.new(sum(heights) + 0.55)
    parts = figure.subfigures(len(found), 1, squeeze=False, height_ratios=heights)[:, 0]
    for part, (name, row, cases, phases) in zip(parts, found, strict=True):
        style.headline(part, name)
        left, right = part.subplots(1, 2, sharey=True, width_ratios=(1, 1.9))
        fill_times(left, cases)
        left.set_title(medians.training(row).replace("\n", ", "))
        fill_shares(right, cases, phases)
    names = {name for *_, phases in found for name in phases["phase"]}
    handles = [Patch(facecolor=colour(name), label=name) for name in sorted(names - set(COPIES), key=rank)]
    if names & set(COPIES):
        once = "copies to and from the GPU, once for all epochs"
        handles.append(Line2D([], [], color=style.DARK, marker="$+$", linestyle="", label=once))
    style.legend(figure, handles, all(cases["converged"].all() for _, _, cases, _ in found))
    return figure


def chosen(summaries):
    """Each method with one thread, and with the number of threads that is fastest; on a GPU there are none."""
    rows = []
    for method in style.ordered(summaries["method"]):
        some = summaries[summaries["method"] == method]
        rows.append(some[(some["threads"] == 1) | (some["median"] == some["median"].min())])
    return pd.concat(rows, ignore_index=True)


def fill_times(axes, cases):
    """Times of an epoch, a line each, with their numbers."""
    low, high = style.extent(cases)
    style.time_axis(axes.xaxis, (low / (high / low) ** 0.05, high * (high / low) ** 0.5), most=3)
    axes.set_yticks(range(len(cases)), [label(case) for case in cases.itertuples()])
    axes.set_ylim(len(cases) - 0.4, -0.6)
    for place, case in cases.iterrows():
        style.points(axes, [case["median"]], [place], case.to_frame().T, style.look(case["method"]), along="x")
        note = {"xytext": (0, 0), "textcoords": "offset points", "xycoords": ("axes fraction", "data")}
        axes.annotate(style.time(case["median"]), (1, place), **note, ha="right", va="center", fontsize=7)
    axes.grid(axis="x")
    axes.set_xlabel("time of an epoch")


def label(case):
    """A case in words: its method, and where it worked."""
    where = style.threads(case.threads) if case.device == "host" else "GPU"
    return f"{style.look(case.method).label}, {where}"


def fill_shares(axes, cases, phases):
    """Stacked bars of the phases' medians as shares of their sum, numbers in those that have room for them.

    Copies between host and card have their time beside the bar.
    """
    for place, case in cases.iterrows():
        own = phases[(phases["method"] == case["method"]) & (phases["threads"] == case["threads"])]
        middle = own.groupby("phase")["seconds"].median()
        is_copy = middle.index.isin(COPIES)
        if copies := middle[is_copy].sum():
            note = {"xytext": (3, 0), "textcoords": "offset points", "va": "center", "fontsize": 7}
            axes.annotate(f"+ {style.time(copies)}", (100, place), **note, color=style.DARK)
        middle, start = middle[~is_copy], 0.0
        for name in sorted(middle.index, key=rank):
            share = 100 * middle[name] / middle.sum()
            axes.barh(place, share, 0.78, left=start, color=colour(name), edgecolor="white", linewidth=0.4)
            if share >= 6:
                ink = "white" if style.is_dark(colour(name)) else "black"
                axes.text(start + share / 2, place, f"{share:.0f}", ha="center", va="center", fontsize=7, color=ink)
            start += share
    axes.set_xlim(0, 100)
    axes.set_xlabel("share of the operations' time (%)")
    axes.tick_params(axis="y", left=False, labelleft=False)
    axes.spines["left"].set_visible(False)


def rank(phase):
    """Where an operation stands in a bar: products first, layer by layer."""
    kind, _, layer = phase.partition(" ")
    known = list(COLOURS)
    return known.index(kind) if kind in known else len(known), layer


def colour(phase):
    """An operation's colour."""
    kind, _, layer = phase.partition(" ")
    depth = int(layer or 1) - 1
    return style.lighter(COLOURS.get(kind, style.GREY), 0.15 + 0.85 * (1 - 0.5**depth))
