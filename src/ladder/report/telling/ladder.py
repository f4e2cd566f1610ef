"""The table of a chapter's ladder, and its waterfall: rung by rung the time of the ladder's unit."""

from ladder.report import ladder_table, study
from ladder.report.figures import layout, waterfall
from ladder.report.latex import code, prose
from ladder.report.telling.case_tables import ruled
from ladder.report.telling.chapter_study import module, parts
from ladder.report.telling.lines import place


def table(chapter):
    """Lines with their ideas, the resources that they relieve, the predicted and the measured times, as LaTeX.

    A chapter whose `lines.py` has TABLE, groups of keys, shows these lines, with a rule between groups.
    """
    shown = [key for key, line in chapter.lines.items() if line.in_table]
    groups = getattr(module(chapter.workload, "lines"), "TABLE", [shown])
    return ladder_table.table(ruled([rows_of(chapter, keys) for keys in groups]), chapter.unit)


def rows_of(chapter, keys):
    """The rows of the table of some lines, each case once."""
    return [row(chapter, key, chapter.line(key)) for key, _ in distinct(chapter, keys)]


def distinct(chapter, keys):
    """[(key, its rows)] of some lines, each case once; those without rows are among them."""
    found, seen = [], set()
    for key in keys:
        rows = chapter.find(key)
        case = tuple(rows[["machine", "variant", "case"]].iloc[0]) if len(rows) else key
        if case not in seen:
            seen.add(case)
            found.append((key, rows))
    return found


def row(chapter, key, line):
    """A line of the table."""
    rows = chapter.find(key)
    words = [code(word) for word in (line.variant, *line.words)]
    where = [place(rows.iloc[0]).replace("×", r"$\times$")] if len(rows) and has_place(chapter, line) else []
    name = ", ".join([*words, *filter(None, [prose(line.note)]), *where])
    return ladder_table.Rung(name, line.idea, line.relieves, chapter.predict(key, rows), rows)


def has_place(chapter, line):
    """Whether a label says where a line runs: on threads, on ranks or, where there are several, on a GPU."""
    return bool({"threads", "ranks"} & {*line.tuning}) or "cards" in chapter.machines


def waterfall_of(chapter, problem, what, ceiling, ceiling_of, colours=None, **options):
    """The waterfall of the ladder, a panel for each machine of its lines; without empty panels.

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
    """The rungs that a machine has measured, each case once; of all lines, or of FIGURE, keys in `lines.py`."""
    keys = [key for key, line in chapter.lines.items() if line.in_figure]
    keys = getattr(module(chapter.workload, "lines"), "FIGURE", keys)
    shown = [(key, rows) for key, rows in distinct(chapter, keys) if len(rows)]
    shown = [(key, rows) for key, rows in shown if chapter.machine_of(key).subject == machine.subject]
    return [rung(chapter, key, rows, colours) for key, rows in shown]


def rung(chapter, key, rows, colours):
    """A line of the waterfall."""
    line = chapter.line(key)
    where = [place(rows.iloc[0])] if has_place(chapter, line) else []
    times = parts(rows, chapter.phases(key)) if colours else {}
    return waterfall.Rung(
        ", ".join([line.variant, *line.words, *filter(None, [line.note]), *where]),
        line.variant,
        study.processes(rows),
        chapter.predict(key, rows),
        bool(rows["converged"].all()),
        line.is_peer,
        {phase: times[phase] for phase in colours or () if phase in times},
        line.begins,
    )
