"""The tables of the supplement: all programs, the loops by flags, the eleven kernels and their memories."""

from ladder.report import latex
from ladder.report.cells import NONE, median
from ladder.report.latex import code
from ladder.report.telling.chapter_study import NotMeasured
from ladder.report.telling.lines import LATEX_TIMES, place
from ladder.store.study import values, where
from ladder.workloads.backprop.paper.claims import ATOMIC, ATOMIC_ERROR, ONE_THREAD
from ladder.workloads.backprop.paper.lines import CHANGES, LOOPS, OUTSIDE, changed

# The study's programs and ours, by the way in which they compute.
PROGRAMS = {
    "one thread": ("before", "loop_order", "contiguous", "temporaries", "fusion", "associativity", "last", ONE_THREAD),
    "threads": ("openmp", ATOMIC_ERROR, ATOMIC, "tuned"),
    "GPU": ("cuda_flat", "cuda_kernels", "cuda", "cuda_fused"),
}
IMAGES = 10_000  # whose time is compared, since a GPU gets more of them
# The shared memory of each kernel, and whether it reads the order of patterns; all read counts and widths of layers.
TILES, WHOLE, WARPS = "tiles of both operands", "the layer's weights", "a sum per warp"
MEMORIES = {
    "0 first products": (TILES, True),
    "1 hidden products": (TILES, True),
    "2 output products": (WHOLE, True),
    "3 hidden deltas": (WHOLE, True),
    "4 activations": (NONE, True),
    "5 error": (WARPS, True),
    "6 output deltas": (NONE, True),
    "7 first change": (TILES, True),
    "8 further changes": (TILES, True),
    "9 bias change": (WARPS, True),
    "10 update": (NONE, False),
}


def programs(study):
    """The time of IMAGES images by every program, the counterpart of the study's charts and of its comparison."""
    rows = []
    for way, selections in PROGRAMS.items():
        for selection in selections:
            cases, line = study.find(selection), study.line(selection)
            if len(cases):
                tuning = [code(f"{name}={value}") for name, value in changes_of(selection).items()]
                name = ", ".join([code(line.variant), *map(code, line.words), *tuning])
                time = median(cases.assign(seconds=cases["seconds"] * IMAGES / cases["images"]))
                rows.append(
                    [way, name, place(cases.iloc[0], LATEX_TIMES), latex.num(int(cases["images"].iloc[0])), time]
                )
    return latex.table("lllrr", ["Way", "Program", "Where", "Images", f"Per {latex.num(IMAGES)} images"], rows)


def changes_of(selection):
    """The tunings that tell a variation from its base."""
    return {name: "atomic" for name in ("error", "update") if getattr(selection, "tuning", {}).get(name) == "atomic"}


def memories(study):
    """Which kernel uses which memory in the base form, as in the study, and how long it takes."""
    base = study.find(changed("cuda_kernels"))
    times = kernel_times(study, base) if len(base) else {}
    rows = []
    for kernel, (shared, has_order) in MEMORIES.items():
        if kernel in times:
            texture = "order, widths" if has_order else "widths"
            rows.append([latex.prose(kernel), shared, "counts, factors", texture, latex.seconds(times[kernel])])
    return latex.table("llllr", ["Kernel", "Shared", "Constant", "Texture", "Time"], rows)


def flags(study):
    """The time of an epoch of every loop with every set of flags."""
    frame = study.frame("flags")
    names = values(frame, "flags")
    rows = [
        [code(name), *(median(where(loop, flags=flag)) for flag in names)]
        for name in LOOPS
        if len(loop := where(frame, variant=name))
    ]
    return latex.table("l" + "r" * len(names), ["Loops", *map(code, names)], rows)


def kernels(study):
    """The median time of each of the eleven kernels, in the base form and with one tuning changed."""
    changes = measured_changes(study, "cuda_kernels")
    cases = [("base", base) for *_, base in changes[:1]]
    cases += [(f"{name}: {value}", rows) for name, value, rows, _ in changes]
    times = {name: kernel_times(study, rows) for name, rows in cases}
    times = {name: seconds for name, seconds in times.items() if len(seconds)}
    phases = sorted(set().union(*(seconds.index for seconds in times.values())), key=phase_order)
    rows = []
    for phase in phases:
        cells = (latex.digits(1e6 * seconds[phase]) if phase in seconds else NONE for seconds in times.values())
        rows.append([latex.prose(phase), *cells])
    head = ["Kernel", *(rf"\rotatebox{{60}}{{{latex.prose(name)}}}" for name in times)]
    return latex.table("l" + "r" * len(times), head, rows)


def measured_changes(study, line, source=None):
    """[(tuning, value, rows, rows of the base)] of the measured changes of a base, on as many threads as the base."""
    changes = []
    for name, value in [(name, value) for name, options in CHANGES[line].items() for value in options]:
        try:
            sides = study.paired(changed(line, source, **{name: value}), changed(line, source))
            changes.append((name, value, *map(study.rows, sides)))
        except NotMeasured:
            pass
    return changes


def kernel_times(study, rows):
    """The median seconds of every kernel of a case."""
    first = rows.iloc[0]
    phases = study.machine("gpu").rows("samples", first["experiment"], variant=first["variant"], case=first["case"])
    phases = phases[~phases["phase"].isin(("total", *OUTSIDE["phase"]))]
    return phases.groupby("phase")["seconds"].median()


def phase_order(phase):
    """A sort key: kernels by their numbers, then other phases."""
    number = phase.split(" ")[0]
    return int(number) if number.isdigit() else 99, phase
