"""The tables of the supplement: all programs, the loops by flags, the eleven kernels and their memories."""

from ladder.report import latex
from ladder.report.cells import NONE, median
from ladder.report.latex import code
from ladder.report.telling.chapter_study import NotMeasured
from ladder.report.telling.claims import with_code
from ladder.report.telling.lines import LATEX_TIMES, place
from ladder.store.study import values, where
from ladder.workloads.backprop.paper.claims import ATOMIC, ATOMIC_ERROR, ONE_THREAD
from ladder.workloads.backprop.paper.lines import CHANGES, LOOPS, OUTSIDE, changed

# The study's programs and ours in words, on one thread, on several and on a GPU.
PROGRAMS = {f"`{name}`": name for name in LOOPS}
PROGRAMS |= {"`associativity`, the study's flags": "last", "`tuned`": ONE_THREAD, "`openmp`": changed("openmp")}
PROGRAMS |= {"`openmp`, atomic error": ATOMIC_ERROR, "`openmp`, atomic update": ATOMIC, "`tuned`, threads": "tuned"}
PROGRAMS |= {f"`{name}`": name for name in ("cuda_flat", "cuda_kernels", "cuda", "cuda_fused")}
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
    cases = {name: study.find(selection) for name, selection in PROGRAMS.items()}
    rows = [
        [
            with_code(name),
            place(rows.iloc[0], LATEX_TIMES),
            latex.num(int(rows["images"].iloc[0])),
            median(rows.assign(seconds=rows["seconds"] * IMAGES / rows["images"])),
        ]
        for name, rows in cases.items()
        if len(rows)
    ]
    return latex.table("llrr", ["Program", "Where", "Images", f"Per {latex.num(IMAGES)} images"], rows)


def memories(study):
    """Which kernel uses which memory in the base form, as in the study, and how long it takes."""
    base, rows = study.find(changed("cuda_kernels")), []
    times = kernel_times(study, base) if len(base) else {}
    for kernel, (shared, has_order) in MEMORIES.items() if len(base) else ():
        texture = "order, widths" if has_order else "widths"
        time = latex.seconds(times[kernel]) if kernel in times else NONE
        rows.append([latex.prose(kernel), shared, "counts, factors", texture, time])
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
