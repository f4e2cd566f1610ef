"""The tables of the chapter: the ladder and the verdicts; behind it the loops by flags, and the eleven kernels."""

from ladder.report import ladder_table, latex, study, verdict_table
from ladder.report.cells import NONE
from ladder.report.latex import code
from ladder.workloads.backprop import RUNGS
from ladder.workloads.backprop.paper import model, query, rates, rungs, varied, verdicts


def tables(found):
    """Every table's LaTeX by its name."""
    host, card = query.chosen(found)
    return {
        "ladder": ladder(host, card),
        "verdicts": verdict_table.table(*verdicts.verdicts(found).values()),
        "flags": flags(host),
        "kernels": kernels(card),
    }


def ladder(host, card):
    """Every line of the ladder with its idea, and an epoch at the ladder's size; rungs also without one."""
    shown = []
    for one in rungs.LINES:
        found = card if "cu" in one.variant else host
        rows = one.rows(found.ladder)
        if len(rows) or not (one.words or one.is_peer):
            shown.append(rung(found.found, one, rows))
    return ladder_table.table(shown, "Epoch")


def rung(found, line, rows):
    """A line of the ladder's table."""
    idea = rungs.IDEAS.get(line.words) or RUNGS[line.variant].removeprefix("peer: ")
    predicted = None
    if len(rows):
        first = rows.iloc[0]
        predicted = model.seconds(first, rates.of_study(found, first), rates.threads_of(first))
    return ladder_table.Rung(code(line.variant), idea, rungs.RELIEVES.get(line.variant, ""), predicted, rows)


def flags(found):
    """The time of an epoch of every loop with every set of flags."""
    frame = found.flags
    names = study.values(frame, "flags")
    rows = [
        [code(name), *(timed(study.where(frame, variant=name, flags=one)) for one in names)]
        for name in ("before", *verdicts.STEPS)
        if len(study.where(frame, variant=name))
    ]
    return latex.table("l" + "r" * len(names), ["Loops", *map(code, names)], rows)


def timed(rows):
    """The median time of a case."""
    return latex.seconds(study.middle(rows)) if len(rows) else NONE


def kernels(found):
    """The median time of each of the eleven kernels, in the base form and with one tuning changed."""
    form, frame = varied.KERNELS, found.varied
    phases = query.parts(found.found.rows("samples", query.VARIED[1]))
    pairs = form.pairs(frame)
    cases = [("base", pairs[0][3])] if pairs else []
    cases += [(f"{name}: {value}", rows) for name, value, rows, _ in pairs]
    times = {name: study.own_phases(rows, phases) for name, rows in cases}
    times = {name: own.groupby("phase")["seconds"].median() for name, own in times.items() if len(own)}
    numbers = sorted({phase for own in times.values() for phase in own.index}, key=numbered)
    rows = [
        [latex.prose(phase), *(latex.digits(1e6 * own[phase]) if phase in own else NONE for own in times.values())]
        for phase in numbers
    ]
    head = ["Kernel", *(rf"\rotatebox{{60}}{{{latex.prose(name)}}}" for name in times)]
    return latex.table("l" + "r" * len(times), head, rows)


def numbered(phase):
    """Kernels by their numbers, other phases behind."""
    number = phase.split(" ")[0]
    return int(number) if number.isdigit() else 99, phase
