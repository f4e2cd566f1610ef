"""The tables of the supplement: the loops by flags, and the eleven kernels."""

from ladder.report import latex
from ladder.report.cells import NONE, median
from ladder.report.latex import code
from ladder.report.telling.chapter_study import NotMeasured
from ladder.store.study import values, where
from ladder.workloads.backprop.paper.lines import CHANGES, LOOPS, OUTSIDE, changed


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
