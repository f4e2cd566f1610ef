"""The table of a chapter's ladder, and its waterfall: rung by rung the time of the ladder's unit."""

from functools import partial

from ladder.report import ladder_table, study
from ladder.report.figures import layout, waterfall
from ladder.report.latex import code, prose
from ladder.report.telling.case_tables import place_in_latex, ruled
from ladder.report.telling.chapter_study import parts
from ladder.report.telling.lines import place


def table(chapter):
    """Lines with their ideas, the resources that they relieve, the predicted and the measured times, as LaTeX."""
    groups = [[row(chapter, key) for key, _ in distinct(chapter, keys)] for keys in chapter.table]
    return ladder_table.table(ruled(groups), chapter.unit)


def distinct(chapter, keys):
    """[(key, its rows)] of lines, each case once; those without rows are among them."""
    lines = {}
    for key in keys:
        rows = chapter.find(key)
        case = tuple(rows[["machine", "variant", "case"]].iloc[0]) if len(rows) else key
        lines.setdefault(case, (key, rows))
    return list(lines.values())


def row(chapter, key):
    """A line of the table."""
    line, rows = chapter.line(key), chapter.find(key)
    words = [code(word) for word in (line.variant, *line.words)]
    where = [place_in_latex(rows.iloc[0])] if len(rows) and has_place(chapter, line) else []
    name = ", ".join([*words, *filter(None, [prose(line.note)]), *where])
    return ladder_table.Rung(name, line.idea, line.relieves, chapter.predict(key, rows), rows)


def has_place(chapter, line):
    """Whether a label says where a line runs: on threads, on ranks or, where there are several, on a GPU."""
    return bool({"threads", "ranks"} & {*line.tuning}) or "cards" in chapter.machines


def waterfall_of(chapter, problem, what, ceiling, ceiling_of=None, colours=None, **options):
    """The waterfall of the ladder, a panel for each machine of its lines; without empty panels.

    `what` is the time that is shown, `problem` what it is of; `ceiling` is the label of the wide line,
    `ceiling_of(machine)` its seconds or None, by default the model's floor. With `colours`, {phase: colour}, a rung's
    phase shares stand beside it.
    """
    machines = {machine.subject: machine for machine in map(chapter.machine_of, chapter.figure)}
    rungs = {name: rungs_of(chapter, machine, colours) for name, machine in machines.items()}
    ceiling_of = ceiling_of or partial(floor_of, chapter)
    panels = {name: (problem, rungs[name], ceiling_of(machines[name])) for name in rungs if rungs[name]}
    return waterfall.figure(panels, what, ceiling, colours, **options) if panels else layout.empty(what)


def floor_of(chapter, machine):
    """The minimum of the model's floors of a machine's rungs, or None."""
    cases = [chapter.find(key) for key in chapter.figure if chapter.machine_of(key).subject == machine.subject]
    floors = (chapter.model.floor(machine, rows.iloc[0]) for rows in cases if len(rows))
    return min(filter(None, floors), default=None)


def rungs_of(chapter, machine, colours):
    """The rungs that a machine has measured, each case once."""
    measured = [(key, rows) for key, rows in distinct(chapter, chapter.figure) if len(rows)]
    measured = [(key, rows) for key, rows in measured if chapter.machine_of(key).subject == machine.subject]
    return [rung(chapter, key, rows, colours) for key, rows in measured]


def rung(chapter, key, rows, colours=None):
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
