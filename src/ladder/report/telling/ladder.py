"""The table of a chapter's ladder, and its waterfall: rung by rung the time of the ladder's unit."""

from ladder.report import ladder_table, study
from ladder.report.figures import layout, waterfall
from ladder.report.latex import code
from ladder.report.telling.chapter_study import parts
from ladder.report.telling.lines import place


def table(chapter):
    """Lines with their ideas, the resources that they relieve, the predicted and the measured times, as LaTeX."""
    rows = [row(chapter, key, line) for key, line in chapter.lines.items() if line.in_table]
    return ladder_table.table(rows, chapter.unit)


def row(chapter, key, line):
    """A line of the table."""
    rows = chapter.find(key)
    words = [code(word) for word in (line.variant, *line.words)]
    where = [place(rows.iloc[0]).replace("×", r"$\times$")] if len(rows) and has_place(chapter, line) else []
    name = ", ".join([*words, *where])
    return ladder_table.Rung(name, line.idea, line.relieves, chapter.predict(key, rows), rows)


def has_place(chapter, line):
    """Whether a label says where a line runs: on threads, on ranks or, where there are several, on a card."""
    return bool({"threads", "ranks"} & {*line.tuning}) or "cards" in chapter.machines


def waterfall_of(chapter, problem, what, ceiling, ceiling_of, colours=None, **options):
    """The waterfall of the ladder, a panel for each machine of its lines; empty panels are left out.

    `what` says whose time it is, of which `problem`, `ceiling` what the wide line is, `ceiling_of(machine)` where it
    stands, or None. With `colours`, {phase: colour}, the shares of a rung's phases stand beside it.
    """
    panels = {}
    for machine in machines_of(chapter):
        rungs = rungs_of(chapter, machine, colours)
        if rungs:
            panels[machine.subject] = problem, rungs, ceiling_of(machine)
    return waterfall.figure(panels, what, ceiling, colours, **options) if panels else layout.empty(what)


def machines_of(chapter):
    """The machines of the ladder's lines, each once."""
    every = [chapter.machine_of(key) for key in chapter.lines]
    return list({one.subject: one for one in every if one.subject}.values())


def rungs_of(chapter, machine, colours):
    """The rungs that a machine has measured, each case once."""
    rungs, seen = [], set()
    for key, line in chapter.lines.items():
        rows = chapter.find(key)
        case = (line.variant, rows["case"].iloc[0]) if len(rows) else None
        is_here = line.in_figure and chapter.machine_of(key).subject == machine.subject
        if is_here and case and case not in seen:
            seen.add(case)
            rungs.append(rung(chapter, key, rows, colours))
    return rungs


def rung(chapter, key, rows, colours):
    """A line of the waterfall."""
    line = chapter.line(key)
    where = [place(rows.iloc[0])] if has_place(chapter, line) else []
    return waterfall.Rung(
        ", ".join([line.variant, *line.words, *where]),
        line.variant,
        study.processes(rows),
        chapter.predict(key, rows),
        bool(rows["converged"].all()),
        line.is_peer,
        parts(rows, chapter.phases(key)) if colours else {},
        line.begins,
    )
