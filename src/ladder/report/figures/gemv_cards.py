"""Matrix-vector products on several GPUs beside ranks of MPI on the CPU, computation and communication apart."""

import pandas as pd
from matplotlib.lines import Line2D

from ladder.report import distributed
from ladder.report.figures import bars, medians, on_ranks, style

TITLE = "Matrix-vector products on several GPUs and on ranks of the CPU"
CATEGORY = "GEMV"
EXPERIMENTS = ("gemv_mpi", "gemv_cards", "gemv_cards_large")
MARKERS = {distributed.COMPUTATION: "s", distributed.COMMUNICATION: "D", distributed.BOTH: "P"}
WHOLE = {"color": style.DARK, "linewidth": 1.2}


def draw(tables):
    """A panel per machine and mode; by matrix and method, each on its best ranks or GPUs, the times of its parts."""
    together = {"samples": pd.concat([table["samples"] for table in tables.values()])}
    totals, passes = (medians.samples(together, total=total) for total in (True, False))
    totals = totals[totals["device"].isin(["mpi", "mpi_cuda"])]
    found = {}
    for name, problems in medians.by_machine(totals, medians.machines(*tables.values())).items():
        if "mpi_cuda" in set(totals.loc[totals["machine"] == name, "device"]):
            problems = sorted(problems, key=lambda problem: problem[0]["flops"])
            modes = {mode: groups(problems, passes[passes["machine"] == name], mode) for mode in on_ranks.MODES}
            found[name] = {mode: one for mode, one in modes.items() if one}
    if not found:
        return style.empty("matrix-vector products on several GPUs")
    counts = {name: len(some) for name, some in found.items()}
    tall = {name: max(map(inches, some.values())) + 0.85 for name, some in found.items()}
    height, tall = style.shared_height(counts, tall)
    figure = style.new(0.45 + height)
    bands = style.bands(figure, counts, inches=tall)
    for name, some in found.items():
        for axes, (mode, one) in zip(bands[name], some.items(), strict=True):
            fill(axes, one)
            axes.set_title(on_ranks.MODES[mode])
    every = [case for some in found.values() for one in some.values() for _, cases in one for case in cases]
    kinds = {kind for case in every for kind in case["kinds"]}
    style.legend(figure, entries(kinds), all(case["converged"] for case in every))
    return figure


def groups(problems, passes, mode):
    """A mode's cases by matrix: [(words, [case])], each method with its fastest; a case has `kinds` besides.

    Where a method has cases on several ranks, one on a single rank, which sends nothing to others, isn't among them.
    """
    found = []
    for row, rows in problems:
        cases = on_ranks.cases(rows, mode).assign(alone=lambda found: found["ranks"] == 1)
        cases = cases.sort_values(["alone", "median"]).drop_duplicates("method").to_dict("records")
        for case in cases:
            own = passes[(passes["method"] == case["method"]) & (passes["case"] == case["case"])]
            case["kinds"] = distributed.by_kind(own, mode)
        order = style.ordered(case["method"] for case in cases)
        found.append((medians.vector_product(row), sorted(cases, key=lambda case: order.index(case["method"]))))
    return [(words, cases) for words, cases in found if cases]


def fill(axes, found):
    """A line per case on a logarithmic axis of time, the matrices' names above theirs."""
    place, ticks, names = 0.0, [], []
    for words, cases in found:
        axes.annotate(words, (0, place), (2, 0), **bars.BESIDE, xycoords=("axes fraction", "data"))
        for number, case in enumerate(cases, start=1):
            one(axes, place + number, case)
            ticks.append(place + number)
            names.append(f"{style.look(case['method']).label}, {on_ranks.words(case)}")
        place += 1 + len(cases) + bars.GAP
    axes.set_yticks(ticks, names)
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(place - bars.GAP - 0.3, -0.6)
    if ends := [time for _, cases in found for case in cases for time in (case["median"], *case["kinds"].values())]:
        style.time_axis(axes.xaxis, (min(ends) / 1.5, max(ends) * 1.5), most=3)
    axes.grid(axis="x")
    axes.set_xlabel("time")


def one(axes, place, case):
    """The parts of a case and its whole, with the latter's number."""
    times = [case["median"], *case["kinds"].values()]
    axes.plot([min(times), max(times)], [place, place], color=style.LIGHT, linewidth=1.0, zorder=1)
    axes.plot(
        [max(case["low"], 1 / style.FAR), min(case["high"], style.FAR)], [place, place], color=style.DARK, linewidth=0.8
    )
    axes.plot([case["median"]] * 2, [place - 0.42, place + 0.42], **WHOLE)
    for kind, seconds in case["kinds"].items():
        colour = on_ranks.KINDS[kind]
        axes.plot([seconds], [place], MARKERS[kind], color=colour, mfc=colour if case["converged"] else "white")
    axes.annotate(style.time(case["median"]), (1, place), (3, 0), **bars.BESIDE, xycoords=("axes fraction", "data"))


def entries(kinds):
    """The legend of these kinds."""
    looks = {"linestyle": "", "mew": 0.9}
    found = [
        Line2D([], [], color=on_ranks.KINDS[kind], marker=MARKERS[kind], label=kind, **looks)
        for kind in distributed.KINDS
        if kind in kinds
    ]
    return [*found, Line2D([], [], color=style.DARK, marker="|", ms=8, label="whole call", **looks)]


def inches(found):
    """The height of a panel."""
    return bars.INCHES * sum(1 + len(cases) + bars.GAP for _, cases in found)
