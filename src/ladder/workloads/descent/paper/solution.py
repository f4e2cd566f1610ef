"""Time to solution by size: steepest descent, conjugate gradients and Cholesky, and where they cross."""

import pandas as pd

from ladder.report import study
from ladder.report.figures import ends, formats, layout, looks, marks, medians, scales
from ladder.report.figures.theme import SMALL
from ladder.report.latex import digits
from ladder.statistics import crossings
from ladder.workloads.descent.paper import algorithms

TITLE = "Time to solution of linear systems by size"
CATEGORY = "Descent"
CAPTION = """\
Time until the relative residual is below the tolerance, or of a Cholesky factorisation with two substitutions. Each
line is a variant with one algorithm. A vertical line, where times cross, is that from which on an algorithm takes less
than Cholesky: `blas` than `scipy_cholesky`, `cuda_persistent` than `cusolver`. Medians with 95 % intervals, hollow if
not converged.
"""
EXPERIMENTS = ("descent_solution", "descent_threads", "descent_direct")
HEIGHT = 1.55  # inches of a panel
PANEL = 0.75  # and of what is drawn in it
DEVICES = ("host", "cuda")
COLOURS = {name: looks.COLOURS[colour] for name, colour in zip(algorithms.NAMES, ("red", "blue", "green"), strict=True)}
# Two variants of one algorithm differ by their dashes.
DASHES = ("", (4, 1.5), (1, 1), (5, 1, 1, 1))
ITERATIVE = ("cg", "steepest")


def draw(tables):
    """A panel per machine and device."""
    frame = medians.samples(medians.joined(tables))
    found = {}
    for name in medians.machines(*tables.values()):
        own = algorithms.alike(frame[frame["machine"] == name])
        panels = {device: study.where(own, device=device) for device in DEVICES}
        panels = {device: along(rows) for device, rows in panels.items() if len(rows)}
        if panels:
            found[name] = panels
    if not found:
        return layout.empty("times to solution")
    counts = {name: len(panels) for name, panels in found.items()}
    figure = layout.new(0.45 + HEIGHT * layout.rows_of_bands(counts))
    bands = layout.bands(figure, counts)
    every = [fill(axes, *one) for name in found for axes, one in zip(bands[name], found[name].items(), strict=True)]
    for axes in bands.values():
        axes[0].set_ylabel("time of a solve")
    entries = [layout.entry(looks.Look(algorithms.NAMES[name], colour, "o")) for name, colour in COLOURS.items()]
    layout.legend(figure, entries, all(every))
    return figure


def along(rows):
    """The rows without a variant that solves systems of one size alone: it is no line among lines."""
    sizes = rows.groupby("variant")["n"].transform("nunique")
    return rows[sizes > 1] if sizes.max() > 1 else rows


def fill(axes, device, rows):
    """The lines of a device, named where they end; whether all of its cases have converged."""
    found = medians.summaries(rows, ("variant", "algorithm", "n"))
    found["method"] = found["variant"] + " " + found["algorithm"]
    kinds = looks_of(found)
    marks.lines(axes, found, "n", "median", kinds)
    marks.points(axes, found, "n", "median", kinds=kinds, size=9)
    scales.log_axis(axes.xaxis, (found["n"].min() / 1.15, found["n"].max() * 1.15), most=4)
    scales.time_axis(axes.yaxis, scales.extent(found, reach=1.5))
    last = found.sort_values("n").groupby("method").tail(1)
    shown = zip(last["median"], last["variant"], last["algorithm"].map(COLOURS), strict=True)
    ends.label(axes, list(shown), PANEL)
    threads = formats.threads(int(rows["threads"].max()))
    axes.set_title(f"host, {threads}" if device == "host" else "card")
    cross(axes, device, rows)
    axes.set_xlabel("n")
    axes.grid(axis="y")
    return found["converged"].all()


def looks_of(found):
    """A look for each line: the algorithm's colour, and dashes by variant."""
    kinds = {}
    for name, some in found.groupby("algorithm", sort=False):
        for method, dashes in zip(pd.unique(some["method"]), DASHES, strict=False):
            kinds[method] = looks.Look(method, COLOURS[name], "o", dashes)
    return kinds


def cross(axes, device, rows):
    """Lines where the algorithms overtake Cholesky, with the size."""
    for name in ITERATIVE:
        found = crossings.break_even(algorithms.points(rows, device, name, "direct"))
        if isinstance(found, tuple):
            axes.axvline(found[0], color=COLOURS[name], linewidth=0.8)
            place = {"xycoords": ("data", "axes fraction"), "textcoords": "offset points", "va": "top"}
            text = digits(found[0], 2)
            axes.annotate(text, (found[0], 1), (-2, 0), **place, ha="right", color=COLOURS[name], fontsize=SMALL)
