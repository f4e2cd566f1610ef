"""Time to solution by size: steepest descent, conjugate gradients and Cholesky, and where they cross."""

from ladder.report.figures import formats, layout, line_names, looks, marks, medians, scales
from ladder.report.figures.theme import DARK, SMALL, Line2D
from ladder.report.latex import digits
from ladder.statistics import crossings
from ladder.store.study import values, where
from ladder.workloads.descent.paper.lines import ALGORITHMS, LINE_KEYS, solve_ratios

TITLE = "Time to solution of linear systems by size"
CAPTION = """\
Time to solution by size: until the relative residual is below the tolerance or, for Cholesky, until the factorisation
and two substitutions end. The axes' labels state A's condition number and the tolerance. Colours are
algorithms; dashes tell apart variants of the same algorithm. Medians with 95 % intervals, hollow if not converged.
"""
EXPERIMENTS = ("descent_solution", "descent_threads", "descent_direct")
HEIGHT = 1.55  # inches of a panel
AXES_HEIGHT = 0.75  # inches of the axes in a panel
COLOURS = {name: looks.COLOURS[colour] for name, colour in zip(ALGORITHMS, ("red", "blue", "green"), strict=True)}
# Variants of one algorithm differ by their dashes.
DASHES = ("", (4, 1.5), (1, 1), (5, 1, 1, 1))
CROSSING_STYLE = {"color": DARK, "linewidth": 0.8}


def draw(study):
    """A panel per machine and device."""
    keys, groups = ("variant", "algorithm", "n"), {}
    for name in study.study.machines():
        solves = study.sources["solves"].rows(study.study.for_machine(name))
        for device in LINE_KEYS:
            rows = where(solves, device=device)
            if len(rows := rows[rows.groupby("variant")["n"].transform("nunique") > 1]):  # one size gives no line
                cases = medians.first_cases(medians.summaries(rows, keys), keys)
                ratios = {algorithm: solve_ratios(rows, device, algorithm) for algorithm in ("cg", "steepest")}
                answers = {algorithm: crossings.break_even(points) for algorithm, points in ratios.items()}
                sizes = {algorithm: answer[0] for algorithm, answer in answers.items() if isinstance(answer, tuple)}
                groups.setdefault(name, []).append((device, rows, cases, sizes))
    if not groups:
        return layout.empty("times to solution")
    figure, bands = layout.panels(groups, fill, HEIGHT, 0.45)
    panels = [panel for group in groups.values() for panel in group]
    for axes, *_ in bands.values():
        axes.set_ylabel("time of a solve")
    entries = [layout.look_handle(looks.Look(ALGORITHMS[name], colour, "o")) for name, colour in COLOURS.items()]
    if any(sizes for *_, sizes in panels):
        entries.append(Line2D([], [], **CROSSING_STYLE, label="less than Cholesky from here on"))
    layout.legend(figure, entries, all(cases["converged"].all() for _, _, cases, _ in panels))
    return figure


def fill(axes, device, rows, cases, sizes):
    """The lines of a device, with a name at the end of each, and the sizes from which a line is below Cholesky's."""
    cases = cases.assign(method=cases["variant"] + " " + cases["algorithm"])
    looks_by_name = looks_of(cases)
    marks.curves(axes, cases, "n", looks_by_name, size=9)
    scales.log_axis(axes.xaxis, (cases["n"].min() / 1.15, cases["n"].max() * 1.15), max_ticks=4)
    scales.time_axis(axes.yaxis, scales.extent(cases, max_factor=1.5))
    line_names.label_lines(axes, cases, "n", looks_by_name, AXES_HEIGHT)
    axes.set_title(f"host, {formats.threads(int(rows['threads'].max()))}" if device == "host" else "GPU")
    axes.set_xlabel(f"n{axis_suffix(rows)}")
    axes.grid(axis="y")
    for name, size in sizes.items():
        axes.axvline(size, **CROSSING_STYLE | {"color": COLOURS[name]})
        position = {"xycoords": ("data", "axes fraction"), "textcoords": "offset points", "va": "top"}
        axes.annotate(digits(size, 2), (size, 1), (-2, 0), **position, ha="right", color=COLOURS[name], fontsize=SMALL)


def axis_suffix(rows):
    """The condition numbers and tolerances of the iterative solves, as a suffix of an axis label."""
    rows = rows[rows["algorithm"] != "direct"]
    kappas = (f"κ = {kappa:g}" for kappa in values(rows, "kappa"))
    tolerances = (f"tolerance {value:.0e}".replace("e-0", "e-") for value in values(rows, "tolerance"))
    return "".join(f", {text}" for text in (*kappas, *tolerances))


def looks_of(cases):
    """A look for each line: the algorithm's colour, and dashes by variant."""
    return {
        line.method: looks.Look(line.variant, COLOURS[algorithm], "o", dashes)
        for algorithm, rows in cases.groupby("algorithm", sort=False)
        for line, dashes in zip(rows.drop_duplicates("method").itertuples(), DASHES, strict=False)
    }
