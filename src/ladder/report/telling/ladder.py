"""The table of a chapter's ladder, and its waterfall, the figure of its times: rung by rung, in the ladder's unit."""

from ladder.report import ladder_table, ratios
from ladder.report.chapters import PEER_PREFIX
from ladder.report.figures import layout, waterfall
from ladder.report.latex import code, prose
from ladder.report.telling.chapter_study import phase_times_of_call
from ladder.report.telling.lines import LATEX_TIMES, parallelism
from ladder.store import study as queries


def table(study):
    """The lines with their ideas, the resources that they save, the predicted and the measured times, as LaTeX."""
    groups = [[row(study, key) for key, _ in distinct_cases(study, keys)] for keys in ladder_table.ladders(study)]
    return ladder_table.table(insert_rules(groups), study.unit)


def insert_rules(groups):
    """The rows of several groups with rules between the groups."""
    return [row for group in groups if group for row in (None, *group)][1:]


def distinct_cases(study, keys):
    """[(key, rows)] of lines, each case only once; lines without rows are included."""
    lines = {}
    for key in keys:
        rows = study.find(key)
        case = tuple(rows[["machine", "variant", "case"]].iloc[0]) if len(rows) else key
        lines.setdefault(case, (key, rows))
    return list(lines.values())


def row(study, key):
    """A line's row of the table."""
    line, rows = study.line(key), study.find(key)
    rung_idea = study.rungs.get(line.variant, "")
    idea = PEER_PREFIX * rung_idea.startswith(PEER_PREFIX) + line.idea if line.idea else rung_idea
    counts = [parallelism(rows.iloc[0], LATEX_TIMES)] if len(rows) and shows_parallelism(study, line) else []
    name = ", ".join([code(line.variant), *filter(None, [prose(line.label)]), *counts])
    return ladder_table.Rung(name, idea, line.relieves, study.predict(key, rows), rows)


def shows_parallelism(study, line):
    """Whether a line's label shows its threads or ranks or, in a chapter with several GPUs, its number of GPUs."""
    return bool({"threads", "ranks"} & {*line.tuning}) or "gpus" in study.machines


def waterfall_of(*arguments, **options):
    """The function `draw` that a figure's module must define, for a waterfall with arguments of `draw_waterfall`."""
    return lambda study: draw_waterfall(study, *arguments, **options)


def draw_waterfall(study, problem, time_label, ceiling, colours=None, **options):
    """The waterfall of the ladder: a panel for each machine of its lines, or for each of PANELS, unless it is empty.

    The axis is labelled `time_label` and `problem`, a text with columns of the panel's rows in braces, or such a text
    for each workload; `ceiling` is the label of the wide line at the minimum of the model's floors. With `colours`,
    {phase: colour}, each rung has a bar of its phases' shares.
    """
    panels, floor = {}, getattr(study.model, "floor", lambda machine, row: None)
    for title, keys in lines_by_panel(study).items():
        cases = {key: rows for key, rows in distinct_cases(study, keys) if len(rows)}
        if not cases:
            continue
        names = dict.fromkeys(study.machine_of(key).machine_name for key in cases)
        floors = [floor(study.machine_of(key), rows.iloc[0]) for key, rows in cases.items()]
        rows_above = dict(zip([*cases][1:], cases.values(), strict=False))
        rungs = [rung(study, key, rows, rows_above.get(key, ()), colours) for key, rows in cases.items()]
        first = next(iter(cases.values())).iloc[0]
        problem_text = (problem[first["workload"]] if isinstance(problem, dict) else problem).format(**first)
        headline = f"{title}, {' and '.join(names)}" if study.panels else title
        panels[headline] = problem_text, rungs, min(filter(None, floors), default=None)
    return waterfall.figure(panels, time_label, ceiling, colours, **options) if panels else layout.empty(time_label)


def lines_by_panel(study):
    """The keys of the lines of each panel, {title: keys}."""
    title_of = {source: title for title, sources in study.panels.items() for source in sources}
    groups = {}
    for key in study.figure:
        title = title_of.get(study.line(key).source) if study.panels else study.machine_of(key).machine_name
        groups.setdefault(title, []).append(key)
    return {title: keys for title, keys in groups.items() if title}


def label_of(study, key):
    """The name of a line with what tells it from others of its variant, as it stands in figures."""
    line = study.line(key)
    return ", ".join(filter(None, (line.variant, line.label.replace("`", ""))))


def rung(study, key, rows, above, colours=None):
    """A line's rung, with its speed-up over the rows `above`; its label omits the variant if METHOD names a method."""
    line = study.line(key)
    is_peer = study.rungs.get(line.variant, "").startswith(PEER_PREFIX)
    method = " ".join(line.tuning[name] for name in study.method_columns if name in line.tuning)
    counts = [parallelism(rows.iloc[0])] if shows_parallelism(study, line) else []
    times = phase_times_of_call(rows, study.phases(key)) if colours else {}
    return waterfall.Rung(
        ", ".join(filter(None, ("" if method else line.variant, line.label.replace("`", ""), *counts))),
        method or line.variant,
        queries.processes(rows),
        study.predict(key, rows),
        bool(rows["converged"].all()),
        is_peer,
        {phase: times[phase] for phase in colours or () if phase in times},
        None if is_peer or line.begins else ratios.of(above, rows),
    )
