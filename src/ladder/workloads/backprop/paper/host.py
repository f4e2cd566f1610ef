"""What flags and techniques are worth on one thread, and how epochs scale with threads."""

import pandas as pd

from ladder.report import study
from ladder.report.figures import by_threads, layout, looks, marks, medians, peaks, scales
from ladder.report.figures.theme import Line2D
from ladder.workloads.backprop.paper import query, rungs
from ladder.workloads.gemm.paper.ceilings import products

TITLE = "Flags against techniques, and threads"
CATEGORY = "Backprop"
CAPTION = """\
Left: an epoch of the loops on one thread, over fewer images. Flags move a mark within its row, a technique from row to
row. Right: rates by threads; the lines of `openmp` differ in how changes of the weights are added up. Medians with 95 %
intervals, hollow if not converged.
"""
EXPERIMENTS = ("backprop_flags", "backprop_flags_before", "backprop_ladder", "backprop_openmp")
USES_CEILINGS = True
HEIGHT = 1.5  # inches of a panel
SPREAD = 0.5  # of a row's height, over which its marks are spread
PANEL = 0.85  # and of what is drawn in it
LOOPS = ("before", "loop_order", "temporaries", "fusion", "associativity")
FLAGS = {
    "bounds": looks.Look("O2, bounds checks", looks.COLOURS["grey"], "X"),
    "O2": looks.Look("O2", looks.COLOURS["red"], "o"),
    "O3": looks.Look("O3", looks.COLOURS["orange"], "s"),
    "unroll": looks.Look("O3, unrolled", looks.COLOURS["yellow"], "^"),
    "fast": looks.Look("O3, fast math", looks.COLOURS["pink"], "v"),
    "native": looks.Look("O3, native", looks.COLOURS["sky"], "D"),
    "all": looks.Look("all of them", looks.COLOURS["blue"], "P"),
}
LINES = {
    "openmp accumulators": looks.Look("openmp, sums", looks.COLOURS["orange"], "o"),
    "openmp owner": looks.Look("openmp, owners", looks.COLOURS["brown"], "o", (4, 1.5)),
    "openmp atomic": looks.Look("openmp, atomic", looks.COLOURS["red"], "o", (1, 1)),
    "blas": looks.Look("blas", looks.COLOURS["blue"], "o"),
    "tuned": looks.Look("tuned", looks.COLOURS["green"], "o"),
    "numpy_loop": looks.Look("numpy_loop", looks.COLOURS["pink"], "o", (4, 1.5)),
    "pytorch": looks.Look("pytorch", looks.COLOURS["sky"], "o", (4, 1.5)),
    "pytorch by_hand": looks.Look("pytorch, by hand", looks.COLOURS["sky"], "o", (1, 1)),
}


def draw(tables, ceilings):
    """Two panels per machine."""
    loops = medians.samples(medians.joined({name: tables[name] for name in query.FLAGS}))
    others = medians.samples(medians.joined({name: tables[name] for name in (query.LADDER, "backprop_openmp")}))
    machines = medians.machines(*tables.values())
    found = {name: (summaries(of(loops, name)), rates(of(others, name))) for name in machines}
    found = {name: pair for name, pair in found.items() if any(len(rows) for rows in pair)}
    if not found:
        return layout.empty("loops and threads")
    figure = layout.new(0.45 + HEIGHT * len(found))
    bands = layout.bands(figure, dict.fromkeys(found, 2))
    for name, (flags, threads) in found.items():
        left, right = bands[name]
        fill_flags(left, flags)
        fill_threads(right, threads, ceilings.get(name, peaks.NONE))
    entries = [layout.entry(look, line=False) for look in FLAGS.values()]
    entries.append(Line2D([], [], **by_threads.CEILING, label="best product"))
    layout.legend(figure, entries, all(rows["converged"].all() for pair in found.values() for rows in pair))
    return figure


def of(frame, machine):
    """A machine's rows."""
    return study.where(frame, machine=machine, device="host")


def summaries(rows):
    """A summary for each loop and set of flags, at the size with most images."""
    rows = study.where(rows, images=max(study.values(rows, "images"), default=None))
    return summarised(rows.assign(method=rows["flags"]) if len(rows) else rows, ("method", "variant", "images"))


def rates(rows):
    """A summary of the rates for each line of LINES and number of threads."""
    if rows.empty:
        return summarised(rows, ("method", "threads", "flops"))
    rows = rows.assign(method=[line_of(row) for row in rows.to_dict("records")])
    rows = rows[rows["method"].isin(LINES)]
    found = summarised(rows, ("method", "threads", "flops")).sort_values("flops")
    found = found.drop_duplicates(["method", "threads"], keep="last")  # a line has its largest size
    return medians.rates(found, found["flops"] / 1e9)


def summarised(rows, by):
    """A summary for each place, also of none."""
    return (
        medians.one_each(medians.summaries(rows, by), by)
        if len(rows)
        else pd.DataFrame(columns=[*by, *medians.SUMMARY])
    )


def line_of(row):
    """The line in which a case stands; of `openmp` those that differ from its base in the update alone."""
    if row["variant"] == "openmp":
        is_base = (row["schedule"], row["error"], row["simd"]) == ("static", "reduction", 1)
        return f"openmp {row['update']}" if is_base else None
    is_by_hand = row.get("gradients") == rungs.PYTORCH_BY_HAND["gradients"]
    return "pytorch by_hand" if is_by_hand else row["variant"]


def fill_flags(axes, found):
    """Times by loop, a mark for each set of flags."""
    if found.empty:
        return layout.blank(axes, "No measurement of flags is there.")
    shown = [name for name in LOOPS if name in set(found["variant"])]
    shift = {name: SPREAD * (at / (len(FLAGS) - 1) - 0.5) for at, name in enumerate(FLAGS)}
    found = found.assign(at=found["variant"].map(shown.index) + found["method"].map(shift))
    marks.points(axes, found, "median", "at", along="x", kinds=FLAGS, size=14)
    axes.set_yticks(range(len(shown)), shown)
    axes.set_ylim(len(shown) - 0.5, -0.5)
    scales.time_axis(axes.xaxis, scales.extent(found, reach=1.3), most=5)
    axes.set_title(f"1 thread, {int(found['images'].max()):,} images")
    axes.set_xlabel("time of an epoch")
    return axes.grid(axis="both")


def fill_threads(axes, found, ceilings):
    """Rates by threads, lines named where they end, and the best product."""
    if found.empty:
        return layout.blank(axes, "No measurement of threads is there.")
    counts = study.values(found, "threads")
    best = {count: rate / 1e9 for count in counts if (rate := products(ceilings, "float32", count))}
    by_threads.fill_rates(axes, found, "threads", LINES, best, PANEL)
    axes.set_title("GFLOP/s")
    return axes.set_xlabel("threads")
