"""The tables of the supplement: all programs, the eleven kernels and their memories."""

import contextlib

import pandas as pd

from ladder.report import latex
from ladder.report.cells import NONE, median
from ladder.report.telling.chapter_study import NotMeasured
from ladder.report.telling.claims import render_code
from ladder.report.telling.lines import LATEX_TIMES, parallelism
from ladder.workloads.backprop.paper.claims import ATOMIC_ERROR, ATOMIC_UPDATE, ONE_THREAD
from ladder.workloads.backprop.paper.lines import CHANGES, LOOPS, OUTSIDE, changed_base

# The earlier study's programs and ours in words, on one thread, on several and on a GPU.
PROGRAMS = {f"`{name}`": name for name in LOOPS}
PROGRAMS |= {"`associativity`, the study's flags": "last", "`tuned`": ONE_THREAD, "`openmp`": changed_base("openmp")}
PROGRAMS |= {"`openmp`, atomic error": ATOMIC_ERROR, "`openmp`, atomic update": ATOMIC_UPDATE}
PROGRAMS |= {"`tuned`, threads": "tuned"}
PROGRAMS |= {f"`{name}`": name for name in ("cuda_flat", "cuda_kernels", "cuda", "cuda_fused")}
IMAGES = 10_000  # whose time is compared, since a GPU gets more of them
# What each kernel has in shared, constant and texture memory, in the base form.
TILES, WHOLE, WARPS, BOTH = "tiles of both operands", "the layer's weights", "a sum per warp", "order, widths"
MEMORIES = {
    "0 first products": (TILES, "counts", BOTH),
    "1 hidden products": (TILES, "counts", BOTH),
    "2 output products": (WHOLE, "counts", BOTH),
    "3 hidden deltas": (WHOLE, "counts", BOTH),
    "4 activations": (NONE, "counts", BOTH),
    "5 error": (WARPS, "counts", BOTH),
    "6 output deltas": (NONE, "counts", BOTH),
    "7 first change": (TILES, "counts, factors", BOTH),
    "8 further changes": (TILES, "counts, factors", BOTH),
    "9 bias change": (WARPS, "counts, factors", BOTH),
    "10 update": (NONE, NONE, "widths"),
}


def programs(study):
    """The time of IMAGES images by every program, the counterpart of the earlier study's charts."""
    rows = []
    for name, cases in {name: study.find(selection) for name, selection in PROGRAMS.items()}.items():
        if len(cases):
            images, where = int(cases["images"].iloc[0]), parallelism(cases.iloc[0], LATEX_TIMES)
            time = median(cases.assign(seconds=cases["seconds"] * IMAGES / images))
            rows.append([render_code(name), where, latex.num(images), time])
    return latex.table("llrr", ["Program", "Where", "Images", f"Per {latex.num(IMAGES)} images"], rows)


def memories(study):
    """Which kernel uses which memory, as in the earlier study, and how long it takes; empty without a GPU."""
    base = study.find(changed_base("cuda_kernels"))
    times = kernel_times(study, base).map(latex.seconds) if len(base) else {}
    rows = [[latex.prose(name), *uses, times.get(name, NONE)] for name, uses in MEMORIES.items()]
    return latex.table("llllr", ["Kernel", "Shared", "Constant", "Texture", "Time"], rows if len(base) else [])


def kernels(study):
    """The median time of each of the eleven kernels, in the base form and with one tuning changed."""
    changes = measured_changes(study, "cuda_kernels")
    cases = [("base", base) for *_, base in changes[:1]]
    cases += [(f"{name}: {value}", rows) for name, value, rows, _ in changes]
    times = pd.DataFrame({name: seconds for name, rows in cases if len(seconds := kernel_times(study, rows))})
    rows = [
        [latex.prose(phase), *times.loc[phase].map(lambda seconds: latex.digits(1e6 * seconds), "ignore").fillna(NONE)]
        for phase in sorted(times.index, key=phase_order)
    ]
    head = ["Kernel", *(rf"\rotatebox{{60}}{{{latex.prose(name)}}}" for name in times)]
    return latex.table("l" + "r" * len(head[1:]), head, rows)


def measured_changes(study, line):
    """[(tuning, value, rows, rows of the base)] of the measured changes of a base, on as many threads as the base."""
    changes = []
    for name, value in [(name, value) for name, options in CHANGES[line].items() for value in options]:
        with contextlib.suppress(NotMeasured):
            sides = study.resolve_common(changed_base(line, **{name: value}), changed_base(line))
            changes.append((name, value, *map(study.rows, sides)))
    return changes


def kernel_times(study, rows):
    """The median seconds of every kernel of a case."""
    phases = study.machine("gpu").of_case("samples", rows)
    phases = phases[~phases["phase"].isin(("total", *OUTSIDE["phase"]))]
    return phases.groupby("phase")["seconds"].median()


def phase_order(phase):
    """A sort key: kernels by their numbers, then other phases."""
    number = phase.split(" ")[0]
    return int(number) if number.isdigit() else 99, phase
