"""What each rung gains: the time of a gigabyte of the matrix, from one core to several cards."""

from ladder.report import study
from ladder.report.figures import layout, peaks, waterfall
from ladder.report.rungs import measured
from ladder.report.study import Study
from ladder.workloads.gemv.paper import model, query, rungs

TITLE = "What each rung of the matrix-vector product gains"
CATEGORY = "GEMV"
CAPTION = """\
The time of a gigabyte of the matrix, rung by rung, from one thread to several cards. A dot is the median of a process,
a tick what the bandwidth allows, which a matrix that is sent through memory takes three times. The wide line is the
memory of all cards. Beside: the median of the dots, and how many times as fast a rung is as the one above it of its
kind, with its 99 % interval.
"""
EXPERIMENTS = ("gemv_threads", "gemv_mpi", "gemv_gpu", "gemv_cards", "gemv_cards_large", "ceiling_gpu_bandwidth")
USES_CEILINGS = True
# Sending, a card and several cards begin something else than the rung above.
BEGIN = [rungs.LINES[key].line for key in ("ship", "naive", "mpi-ship")]


def draw(tables, ceilings):
    """A panel for each machine of the chapter, mostly one."""
    machines, panels = query.chosen(Study(tables, None)), {}
    for machine in {one.found.subject: one for one in machines[:3] if one.found.subject}.values():
        lines = [one.line for key, one in rungs.LINES.items() if rungs.of(key, machines) is machine]
        panels[machine.found.subject] = panel(machine, lines, ceilings)
    panels = {name: each for name, each in panels.items() if each[1]}
    if not panels:
        return layout.empty("matrix-vector products")
    return waterfall.figure(panels, "time of a gigabyte", "memory of all cards", most=5)


def panel(machine, lines, ceilings):
    """A machine's type, its rungs, and the seconds of a gigabyte in the memory of all its cards."""
    rates = model.of_ceilings(ceilings.get(machine.found.subject, peaks.NONE), machine.found)
    shown = [rung(line, rows, rates) for line, rows in measured(lines, machine.ladder)]
    most = max(machine.most_cards, 1)
    return query.DTYPE, shown, query.GIGABYTE / (rates.card * most) if rates.card else None


def rung(line, rows, rates):
    """A line of the figure."""
    predicted = model.seconds(rows.iloc[0], rates, query.GIGABYTE)
    converged = bool(rows["converged"].all())
    label, begins = line.label(rows), line in BEGIN
    return waterfall.Rung(label, line.variant, study.processes(rows), predicted, converged, begins=begins)
