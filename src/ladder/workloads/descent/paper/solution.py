"""Time to solution by size: steepest descent, conjugate gradients and Cholesky, and where they cross."""

import pandas as pd

from ladder.report.figures import ends, formats, layout, looks, marks, medians, scales
from ladder.report.figures.theme import DARK, SMALL, Line2D
from ladder.report.latex import digits
from ladder.report.study import values, where
from ladder.statistics import crossings
from ladder.workloads.descent.paper import algorithms

TITLE = "Time to solution of linear systems by size"
CATEGORY = "Descent"
CAPTION = """\
Time to solution by size: until the relative residual is below the tolerance, or for a Cholesky factorisation with two
substitutions. The condition of A and the tolerance stand below. Each line is one variant with one algorithm. Medians
with 95 % intervals, hollow if not converged.
"""
EXPERIMENTS = ("descent_solution", "descent_threads", "descent_direct")
HEIGHT = 1.55  # inches of a panel
PANEL = 0.75  # and of what is drawn in it
DEVICES = ("host", "cuda")
COLOURS = {name: looks.COLOURS[colour] for name, colour in zip(algorithms.NAMES, ("red", "blue", "green"), strict=True)}
# Two variants of one algorithm differ by their dashes.
DASHES = ("", (4, 1.5), (1, 1), (5, 1, 1, 1))
ITERATIVE = ("cg", "steepest")
CROSSED = {"color": DARK, "linewidth": 0.8}


def draw(study):
    """A panel per machine and device."""
    machines = {name: study.study.of(name) for name in study.study.machines()}
    every = {name: panels_of(study.sources["solves"].rows(machine)) for name, machine in machines.items()}
    counts = {name: len(panels) for name, panels in every.items() if panels}
    if not counts:
        return layout.empty("times to solution")
    figure = layout.new(0.45 + HEIGHT * layout.rows_of_bands(counts))
    bands = layout.bands(figure, counts)
    shown = [(axes, *panel) for name in counts for axes, panel in zip(bands[name], every[name].items(), strict=True)]
    converged = [fill(*one) for one in shown]
    for axes in bands.values():
        axes[0].set_ylabel("time of a solve")
    entries = [layout.entry(looks.Look(algorithms.NAMES[name], colour, "o")) for name, colour in COLOURS.items()]
    crossed = [cross(*one) for one in shown]
    if any(crossed):
        entries.append(Line2D([], [], **CROSSED, label="less than Cholesky from here on"))
    layout.legend(figure, entries, all(converged))
    return figure


def panels_of(solves):
    """The solves of each device, {device: rows}, without those of a variant that solves systems of one size alone."""
    found = {device: where(solves, device=device) for device in DEVICES}
    return {device: along(rows) for device, rows in found.items() if len(rows)}


def along(rows):
    """The rows without a variant of one size, unless all are of one: it is no line among lines."""
    sizes = rows.groupby("variant")["n"].transform("nunique")
    return rows[sizes > 1] if sizes.max() > 1 else rows


def fill(axes, device, rows):
    """The lines of a device, named where they end; whether all of its cases have converged."""
    line = ("variant", "algorithm", "n")
    found = medians.one_each(medians.summaries(rows, line), line)
    found["method"] = found["variant"] + " " + found["algorithm"]
    kinds = looks_of(found)
    marks.lines(axes, found, "n", "median", kinds)
    marks.points(axes, found, "n", "median", kinds=kinds, size=9)
    scales.log_axis(axes.xaxis, (found["n"].min() / 1.15, found["n"].max() * 1.15), most=4)
    scales.time_axis(axes.yaxis, scales.extent(found, reach=1.5))
    name_lines(axes, found)
    axes.set_title(f"host, {formats.threads(int(rows['threads'].max()))}" if device == "host" else "GPU")
    axes.set_xlabel(f"n{conditions(rows)}")
    axes.grid(axis="y")
    return found["converged"].all()


def conditions(rows):
    """The condition and the tolerance of the solves by iteration, behind the name of an axis."""
    rows = rows[rows["algorithm"] != "direct"]
    kappas = (f"κ = {kappa:g}" for kappa in values(rows, "kappa"))
    tolerances = (f"tolerance {value:.0e}".replace("e-0", "e-") for value in values(rows, "tolerance"))
    return "".join(f", {text}" for text in (*kappas, *tolerances))


def name_lines(axes, found):
    """The names of the lines: beside the panel, or where one ends earlier below or above those that go on."""
    last = found.sort_values("n").groupby("method").tail(1)
    last = last.assign(colour=last["algorithm"].map(COLOURS))
    is_long = last["n"] == found["n"].max()
    ends.label(axes, list(last.loc[is_long, ["median", "variant", "colour"]].itertuples(index=False)), PANEL)
    for row in last[~is_long].itertuples():
        others = found.loc[(found["n"] == row.n) & found["method"].isin(last.loc[is_long, "method"]), "median"]
        above = row.median > others.max()
        place = {"textcoords": "offset points", "va": "bottom" if above else "top", "fontsize": SMALL}
        axes.annotate(row.variant, (row.n, row.median), (4, 0), color=row.colour, **place)


def looks_of(found):
    """A look for each line: the algorithm's colour, and dashes by variant."""
    kinds = {}
    for name, some in found.groupby("algorithm", sort=False):
        for method, dashes in zip(pd.unique(some["method"]), DASHES, strict=False):
            kinds[method] = looks.Look(method, COLOURS[name], "o", dashes)
    return kinds


def cross(axes, device, rows):
    """Lines where the variants that stand for algorithms overtake Cholesky, with the size; whether there is any."""
    points = {name: crossings.break_even(algorithms.points(rows, device, name, "direct")) for name in ITERATIVE}
    found = {name: one[0] for name, one in points.items() if isinstance(one, tuple)}
    for name, size in found.items():
        axes.axvline(size, **CROSSED | {"color": COLOURS[name]})
        place = {"xycoords": ("data", "axes fraction"), "textcoords": "offset points", "va": "top"}
        axes.annotate(digits(size, 2), (size, 1), (-2, 0), **place, ha="right", color=COLOURS[name], fontsize=SMALL)
    return bool(found)
