"""Matrix-vector products on several GPUs beside ranks of MPI on the CPU, computation and communication apart."""

import pandas as pd
from matplotlib.lines import Line2D

from ladder.report.figures import bars, formats, layout, looks, marks, medians, methods, scales, theme
from ladder.workloads.gemv.paper import distributed, on_ranks, problem

TITLE = "Matrix-vector products on several GPUs and on ranks of the CPU"
CATEGORY = "GEMV"
CAPTION = """\
Products of a matrix and a vector on ranks of MPI on the CPU and on several GPUs, by size of the matrix, each method
with its fastest number of ranks, threads or GPUs above one. Left the matrix is sent with every product, right it
stays. Markers: medians of computation and of communication, from passes in which each phase was timed on its own with
its own start by the host, as the slowest rank saw it; the whole call, where it is one CUDA graph, may therefore be
shorter than the two. `both at once` are phases that overlap and can't be separated. The upright line is the whole
call with its 95 % interval; hollow markers: it stayed wider than the target.
"""
EXPERIMENTS = ("gemv_mpi", "gemv_cards", "gemv_cards_large")
KINDS = {
    kind: looks.Look(kind, on_ranks.KINDS[kind], marker) for kind, marker in zip(distributed.KINDS, "sDP", strict=True)
}


def draw(tables):
    """A panel per machine and mode; by matrix and method, each on its best ranks or GPUs, the times of its parts."""
    together = medians.joined(tables)
    totals, passes = (medians.samples(together, total=total) for total in (True, False))
    totals = totals[totals["device"].isin(["mpi", "mpi_cuda"])]
    found = {}
    for name, problems in medians.by_machine(totals, medians.machines(*tables.values())).items():
        if "mpi_cuda" in set(totals.loc[totals["machine"] == name, "device"]):
            problems = sorted(problems, key=lambda one: one[0]["flops"])
            modes = {mode: groups(problems, passes[passes["machine"] == name], mode) for mode in on_ranks.MODES}
            found[name] = {mode: one for mode, one in modes.items() if one}
    if not found:
        return layout.empty("matrix-vector products on several GPUs")
    counts = {name: len(some) for name, some in found.items()}
    tall = {name: max(map(inches, some.values())) + 0.85 for name, some in found.items()}
    height, tall = layout.shared_height(counts, tall)
    figure = layout.new(0.45 + height)
    bands = layout.bands(figure, counts, inches=tall)
    for name, some in found.items():
        for axes, (mode, one) in zip(bands[name], some.items(), strict=True):
            fill(axes, one)
            axes.set_title(on_ranks.MODES[mode])
    every = [case for some in found.values() for one in some.values() for _, cases in one for case in cases]
    kinds = {kind for case in every for kind in case["kinds"]}
    layout.legend(figure, entries(kinds), all(case["converged"] for case in every))
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
        order = methods.ordered(case["method"] for case in cases)
        found.append((problem.title(row), sorted(cases, key=lambda case: order.index(case["method"]))))
    return [(title, cases) for title, cases in found if cases]


def fill(axes, found):
    """A line per case on a logarithmic axis of time, the matrices' names above theirs."""
    top, shown = 0.0, []
    for title, cases in found:
        axes.annotate(title, (0, top), (2, 0), **bars.BESIDE, xycoords=("axes fraction", "data"))
        shown += [case | {"at": top + number} for number, case in enumerate(cases, start=1)]
        top += 1 + len(cases) + bars.GAP
    wholes(axes, pd.DataFrame(shown))
    parts = [
        {"method": kind, "seconds": seconds, "at": case["at"], "converged": case["converged"]}
        for case in shown
        for kind, seconds in case["kinds"].items()
    ]
    if parts:
        marks.mark(axes, pd.DataFrame(parts), "seconds", "at", KINDS)
    labels = [f"{looks.look(case['method']).label}, {on_ranks.where(case)}" for case in shown]
    axes.set_yticks([case["at"] for case in shown], labels)
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(top - bars.GAP - 0.3, -0.6)
    ends = [time for case in shown for time in (case["median"], *case["kinds"].values())]
    scales.time_axis(axes.xaxis, (min(ends) / 1.5, max(ends) * 1.5), most=3)
    axes.grid(axis="x")
    axes.set_xlabel("time")


def wholes(axes, cases):
    """The whole call of each case with its interval and its number, and a line to the farthest of its parts."""
    ends = [[median, *kinds.values()] for median, kinds in zip(cases["median"], cases["kinds"], strict=True)]
    axes.hlines(cases["at"], [*map(min, ends)], [*map(max, ends)], colors=theme.LIGHT, linewidth=1.0, zorder=1)
    marks.intervals(axes, cases["at"], cases, "x", theme.DARK)
    axes.vlines(cases["median"], cases["at"] - 0.42, cases["at"] + 0.42, colors=theme.DARK, linewidth=1.2)
    for at, median in zip(cases["at"], cases["median"], strict=True):
        axes.annotate(formats.time(median), (1, at), (3, 0), **bars.BESIDE, xycoords=("axes fraction", "data"))


def entries(kinds):
    """The legend of these kinds."""
    found = [layout.entry(look, line=False) for kind, look in KINDS.items() if kind in kinds]
    return [*found, Line2D([], [], color=theme.DARK, marker="|", ms=8, mew=0.9, linestyle="", label="whole call")]


def inches(found):
    """The height of a panel."""
    return bars.INCHES * sum(1 + len(cases) + bars.GAP for _, cases in found)
