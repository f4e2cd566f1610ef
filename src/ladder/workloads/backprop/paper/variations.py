"""What one tuning costs or gains: the loops on threads and the kernels of the earlier study, changed in one place."""

import pandas as pd

from ladder.report import ratios
from ladder.report.figures import bars, formats, layout, looks, marks, scales, theme
from ladder.workloads.backprop.paper import varied
from ladder.workloads.backprop.paper.lines import CHANGES

TITLE = "One tuning changed at a time"
CATEGORY = "Backprop"
CAPTION = """\
How many times as long an epoch takes with one tuning changed. The base of `openmp` has a static schedule, a reduction
of the error, sums of each thread and vectors asked for; of `cuda_kernels` operands in shared memory, scalars in
constants, tables in textures, a block's sum of the error and 256 threads a block; of `cuda_flat` offsets. Ratios with
99 % intervals, hollow if not converged.
"""
EXPERIMENTS = ("backprop_openmp", "backprop_kernels", "backprop_before", "backprop_ladder", "backprop_gpu")
INCHES = 0.13  # height of a change
AROUND = 0.72  # inches of a panel above and below its changes
LINE = {"color": theme.DARK, "linewidth": 0.9}
REACH = 3.0  # how far an interval is followed, as a factor
LEAST = 2.0  # and an axis reaches at least to either side of 1


def draw(study):
    """A panel for each host of the chapter, and one for its card."""
    host, widest, card = (study.machine(role).subject for role in ("host", "widest", "card"))
    panels = {host: changes(study, "openmp"), f"{card}, card": changes(study, "cuda_kernels", "cuda_flat")}
    if widest != host:
        panels = {host: panels.pop(host), widest: changes(study, "openmp", source="threads on cores")} | panels
    panels = {name: one for name, one in panels.items() if len(one)}
    if not panels:
        return layout.empty("changes of one tuning")
    counts = dict.fromkeys(panels, 1)
    tall = INCHES * max(map(len, panels.values())) + AROUND
    figure = layout.new(0.2 + tall * layout.rows_of_bands(counts))
    for (axes,), one in zip(layout.bands(figure, counts).values(), panels.values(), strict=True):
        fill(axes, one)
    layout.legend(figure, [], all(one["converged"].all() for one in panels.values()))
    return figure


def changes(study, *lines, source=None):
    """What is drawn of some bases, a row per change; the panel has the name of the first, others theirs in a row."""
    rows = [change(*one) for line in lines for one in varied.measured(study, line, source)]
    return pd.DataFrame([one if one["base"] == rows[0]["base"] else one | {"tuning": one["base"]} for one in rows])


def change(name, value, rows, base):
    """A change as what is drawn."""
    ratio, first = ratios.of(rows, base), rows.iloc[0]
    threads = f", {formats.threads(int(first['threads']))}" if first["device"] == "host" else ""
    drawn = {"base": first["variant"] + threads, "method": first["variant"], "tuning": name, "value": str(value)}
    drawn |= {"median": ratio.value, "low": ratio.low, "high": ratio.high}
    return drawn | {"converged": bool(rows["converged"].all() and base["converged"].all())}


def fill(axes, rows):
    """The changes of a panel, downwards."""
    rows = rows.assign(at=range(len(rows)))
    axes.axvline(1, **LINE, zorder=1)
    marks.points(axes, rows, "median", "at", along="x", kinds={name: looks.look(name) for name in CHANGES}, size=12)
    axes.set_yticks(rows["at"], rows["tuning"] + ": " + rows["value"])
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(len(rows) - 0.4, -0.6)
    low, high = scales.extent(rows, reach=REACH)
    scales.log_axis(axes.xaxis, (min(low, 1 / LEAST), max(high, LEAST)), most=3)
    for row in rows.itertuples():
        text = f"{formats.three(row.median)} ×"
        axes.annotate(text, (1, row.at), (3, 0), **bars.BESIDE, xycoords=("axes fraction", "data"))
    axes.set_title(rows["base"].iloc[0])
    axes.set_xlabel("times as long")
    axes.grid(axis="x")
