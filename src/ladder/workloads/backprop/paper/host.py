"""The gains of flags and techniques on one thread, and the scaling with threads."""

from dataclasses import replace
from functools import partial

from ladder.report.figures import by_threads, layout, marks, medians, scales
from ladder.report.figures.looks import COLOURS, Look
from ladder.report.figures.theme import Line2D
from ladder.report.telling import scaling
from ladder.report.telling.lines import select
from ladder.store import rates
from ladder.store.study import NO_ROWS
from ladder.workloads.backprop.paper.lines import LOOPS, SIZE

TITLE = "Flags against techniques, and threads"
CAPTION = """\
By technique: time of an epoch on one thread, with more images than in the ladder; a mark is a set of compiler flags. By
threads: rates; the wide line is the best rate of a matrix product. In `openmp`, a thread sums changes of all weights
over its patterns (sums), or of its own weights over all patterns (owners). Medians with 95 % intervals, hollow if not
converged.
"""
EXPERIMENTS = ("backprop_flags", "backprop_flags_before", "backprop_steps", "backprop_ladder", "backprop_gpu")
USES_CEILINGS = True
HEIGHT = 1.5  # inches of a panel
SPREAD = 0.5  # the range of a row's marks, as a share of the row's height
AXES_HEIGHT = 0.85  # inches of the axes in a panel
LOOKS_BY_FLAGS = {
    "O2": Look("O2", COLOURS["red"], "o"),
    "O3": Look("O3", COLOURS["orange"], "s"),
    "unroll": Look("O3, unrolled", COLOURS["yellow"], "^"),
    "fast": Look("O3, fast math", COLOURS["pink"], "v"),
    "native": Look("O3, native", COLOURS["sky"], "D"),
    "all": Look("all of them", COLOURS["blue"], "P"),
    "study": Look("the study's", COLOURS["grey"], "X"),
}
SCALING = (  # the lines of the panels by threads
    (select("openmp", "loops", flags="all"), Look("openmp, sums", COLOURS["orange"], "o")),
    (select("openmp", "loops", flags="all", update="owner"), Look("openmp, owners", COLOURS["brown"], "o", (4, 1.5))),
    (select("blas", "loops"), Look("blas", COLOURS["blue"], "o")),
    (select("tuned", "loops"), Look("tuned", COLOURS["green"], "o")),
    (select("numpy_loop", "loops"), Look("numpy_loop", COLOURS["pink"], "o", (4, 1.5))),
    (select("pytorch", "loops"), Look("pytorch", COLOURS["sky"], "o", (4, 1.5))),
    (select("by hand", "loops"), Look("pytorch, by hand", COLOURS["sky"], "o", (1, 1))),
)
product_rates = partial(rates.products_by_threads, precision=SIZE["dtype"])


def draw(study):
    """Two panels for the chapter's host, and threads of the machine with most of them if it is another one."""
    on_cores = [(replace(selection, source="cores"), look) for selection, look in SCALING]
    roles = list({study.machine(role).machine_name: role for role in ("widest", "host")}.values())[::-1]
    panels = [scaling.Panel(role, SCALING if role == "host" else on_cores, "threads", product_rates) for role in roles]
    key, data = ("method", "variant", "images"), study.frame("flags")
    flags = medians.first_cases(medians.summaries(data.assign(method=data["flags"]), key), key) if len(data) else data
    by_role = {"host": flags, "widest": NO_ROWS}  # flags are measured on the chapter's host only
    rows = [(panel, by_role[panel.role], scaling.summaries_of(study, panel, "flops")) for panel in panels]
    rows = [row for row in rows if any(map(len, row[1:]))]
    if not rows:
        return layout.empty("loops and threads")
    figure = layout.new_figure(0.45 + HEIGHT * len(rows))
    panel_counts = {study.machine(panel.role).machine_name: sum(map(bool, map(len, frames))) for panel, *frames in rows}
    for axes, (panel, flags, threads) in zip(layout.bands(figure, panel_counts).values(), rows, strict=True):
        if len(flags):
            fill_flags(axes[0], flags)
        if len(threads):
            scaling.fill(axes[-1], study, panel, threads, "GFLOP/s", AXES_HEIGHT)
    entries = [layout.look_handle(look, with_line=False) for look in LOOKS_BY_FLAGS.values()]
    entries.append(Line2D([], [], **by_threads.CEILING, label="best product"))
    summaries = [frame for row in rows for frame in row[1:] if len(frame)]
    layout.legend(figure, entries, all(frame["converged"].all() for frame in summaries))
    return figure


def fill_flags(axes, rows):
    """Times by loop, a mark for each set of flags."""
    loops = [name for name in LOOPS if name in set(rows["variant"])]
    shift = {name: SPREAD * (index / (len(LOOKS_BY_FLAGS) - 1) - 0.5) for index, name in enumerate(LOOKS_BY_FLAGS)}
    rows = rows.assign(y=rows["variant"].map(loops.index) + rows["method"].map(shift))
    marks.points(axes, rows, "median", "y", along="x", looks_by_name=LOOKS_BY_FLAGS, size=14)
    axes.set_yticks(range(len(loops)), loops)
    scales.time_axis(axes.xaxis, scales.extent(rows, max_factor=1.3), max_ticks=5)
    title = f"1 thread, {int(rows['images'].max()):,} images"
    axes.set(ylim=(len(loops) - 0.5, -0.5), title=title, xlabel="time of an epoch")
    axes.grid(axis="both")
