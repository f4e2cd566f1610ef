"""The cost or gain of one changed tuning: of the loops on threads, and of the earlier study's kernels."""

import pandas as pd

from ladder.report import ratios
from ladder.report.figures import bars, formats, layout, looks, marks, scales, theme
from ladder.workloads.backprop.paper.lines import CHANGES
from ladder.workloads.backprop.paper.tables import measured_changes

TITLE = "One tuning changed at a time"
CAPTION = """\
Time of an epoch with one tuning changed, over that of the base. The base of `openmp` has a static schedule, a
reduction of the error, weight changes summed per thread (`update`) and SIMD directives; that of `cuda_kernels`,
operands in shared memory, scalars in constant memory, index tables in texture memory, sums of the error per block and
256 threads per block; that of `cuda_flat`, stored offsets. With 99 % intervals, hollow if not converged.
"""
EXPERIMENTS = ("backprop_openmp", "backprop_kernels", "backprop_steps", "backprop_ladder", "backprop_gpu")
ROW_HEIGHT = 0.13  # inches of a row, which shows a change
MARGIN = 0.72  # inches of a panel above and below its rows, together
REACH = 3.0  # the axis cuts intervals beyond this factor
MIN_REACH = 2.0  # the minimum reach of an axis to either side of 1


def draw(study):
    """A panel for threads, and one for the GPU."""
    host, gpu = (study.machine(role).machine_name for role in ("threads", "gpu"))
    panels = {host: change_rows(study, "openmp"), f"{gpu}, GPU": change_rows(study, "cuda_kernels", "cuda_flat")}
    panels = {name: rows for name, rows in panels.items() if len(rows)}
    if not panels:
        return layout.empty("changes of one tuning")
    height = ROW_HEIGHT * max(map(len, panels.values())) + MARGIN
    figure, _ = layout.panels({name: [(rows,)] for name, rows in panels.items()}, fill, height, 0.2)
    layout.legend(figure, [], all(rows["converged"].all() for rows in panels.values()))
    return figure


def change_rows(study, *lines):
    """A row for each change of some bases. Labels name the tuning, or, if the base isn't the first, the variant."""
    rows = []
    for line in lines:
        for tuning, value, changed_rows, base_rows in measured_changes(study, line):
            ratio, case = ratios.of(changed_rows, base_rows), changed_rows.iloc[0]
            variant, converged = case["variant"], bool(changed_rows["converged"].all() and base_rows["converged"].all())
            threads = f", {formats.threads(int(case['threads']))}" if case["device"] == "host" else ""
            label = f"{tuning if line == lines[0] else variant}: {value}"
            interval = {"median": ratio.value, "low": ratio.low, "high": ratio.high, "converged": converged}
            rows.append({"base": variant + threads, "method": variant, "label": label} | interval)
    return pd.DataFrame(rows)


def fill(axes, rows):
    """The changes of a panel, top to bottom."""
    rows = rows.assign(y=range(len(rows)))
    axes.axvline(1, color=theme.DARK, linewidth=0.9, zorder=1)
    marks.points(axes, rows, "median", "y", "x", {name: looks.look(name) for name in CHANGES}, size=12)
    axes.set_yticks(rows["y"], rows["label"])
    axes.tick_params(axis="y", length=0)
    low, high = scales.extent(rows, max_factor=REACH)
    scales.log_axis(axes.xaxis, (min(low, 1 / MIN_REACH), max(high, MIN_REACH)), max_ticks=3)
    for row in rows.itertuples():
        text = f"{formats.three_digits(row.median)} ×"
        axes.annotate(text, (1, row.y), (3, 0), **bars.TEXT, xycoords=("axes fraction", "data"))
    axes.set(ylim=(len(rows) - 0.4, -0.6), title=rows["base"].iloc[0], xlabel="times as long")
    axes.grid(axis="x")
