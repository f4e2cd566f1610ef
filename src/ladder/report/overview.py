"""The overview: what every rung of every ladder gains over the first, on each machine that measured the ladder."""

from dataclasses import dataclass

from ladder.report import chapter_code, chapters, ladder_table, ratios
from ladder.report.figures import layout, scales, theme
from ladder.report.figures.theme import Line2D, sns
from ladder.report.telling.chapter_study import study_of_chapter
from ladder.report.telling.ladder import distinct_cases, label_of
from ladder.statistics.quotients import Ratio
from ladder.store.study import Study

ROW_HEIGHT = 0.135  # inches of a rung
MARGIN = 0.38  # inches of a panel above and below its rungs
COLUMNS = 2
MIN_RUNGS = 3  # measured rungs of a ladder; shorter ladders are left to the chapters
MARKERS = ("o", "s", "^", "D", "v", "P")


@dataclass(frozen=True)
class Panel:
    """A ladder: its title, and {label of a rung: {machine: Ratio of the first rung's time to its own}}."""

    title: str
    rungs: dict


def panels(study):
    """The ladders with at least MIN_RUNGS rungs: each rung's gain over the first, by machine."""
    rungs_by_ladder, studies = {}, studies_by_machine(study)
    for chapter in chapters.chapters():
        if not chapter.has_lines:
            continue
        for machine, study_of_machine in studies.items():
            chapter_study = study_of_chapter(chapter.workload, study_of_machine)
            if chapter_study.unit is None:  # a chapter without a ladder
                continue
            for keys in ladder_table.ladders(chapter_study):
                with chapter_code.explain_mistakes(
                    f"The ladder of the chapter {chapter.workload}", chapter.folder / "lines.py"
                ):
                    ratios_by_label = gains(chapter_study, keys)
                in_order = {rung_label(chapter_study, key): {} for key in keys}
                rungs = rungs_by_ladder.setdefault((chapter.title, keys[0]), in_order)
                for label, ratio in ratios_by_label.items():
                    rungs[label][machine] = ratio
    measured = [
        (title, {label: by_machine for label, by_machine in rungs.items() if by_machine})
        for (title, _), rungs in rungs_by_ladder.items()
    ]
    long_ladders = [(title, rungs) for title, rungs in measured if len(rungs) >= MIN_RUNGS]
    titles = [title for title, _ in long_ladders]
    return [
        Panel(title if titles.index(title) == number else f"{title}, further", rungs)
        for number, (title, rungs) in enumerate(long_ladders)
    ]


def studies_by_machine(study):
    """The study of each machine, {machine: Study}, with the measurements of this machine alone."""
    tables = {machine: {experiment: {} for experiment in study.tables} for machine in study.machines()}
    for experiment, experiment_tables in study.tables.items():
        for name, frame in experiment_tables.items():
            rows = dict(iter(frame.groupby("machine"))) if len(frame) else {}
            for machine, tables_of_machine in tables.items():
                tables_of_machine[experiment][name] = rows.get(machine, frame.iloc[:0])
    return {
        machine: Study(machine_tables, machine, study.descriptions, study.roofs)
        for machine, machine_tables in tables.items()
    }


def gains(chapter_study, keys):
    """{label: Ratio} of the lines of a ladder over its first; none if that, or all others, weren't measured."""
    (first, base), *others = distinct_cases(chapter_study, keys)
    others = [(key, rows) for key, rows in others if len(rows)]
    if not (len(base) and others):
        return {}
    return {rung_label(chapter_study, first): Ratio(1, 1, 1)} | {
        rung_label(chapter_study, key): ratios.of(base, rows) for key, rows in others
    }


def rung_label(chapter_study, key):
    """The label of a line, with `one thread` where it has a single one."""
    return label_of(chapter_study, key) + (", one thread" if chapter_study.line(key).tuning.get("threads") == 1 else "")


def draw(study):
    """The figure: a panel for each ladder, a row for each rung, a mark for each machine."""
    all_panels = panels(study)
    if not all_panels:
        return layout.empty("the ladders")
    machines = dict.fromkeys(machine for panel in all_panels for rung in panel.rungs.values() for machine in rung)
    colours = sns.color_palette("colorblind", len(machines)).as_hex()
    machine_looks = {name: (colours[i], MARKERS[i % len(MARKERS)]) for i, name in enumerate(machines)}
    columns = balance_columns(all_panels)
    height = max(sum(MARGIN + ROW_HEIGHT * len(panel.rungs) for panel in column) for column in columns)
    figure = layout.new_figure(height + 0.2)
    for subfigure, column in zip(figure.subfigures(1, len(columns), squeeze=False)[0], columns, strict=True):
        height_ratios = [MARGIN + ROW_HEIGHT * len(panel.rungs) for panel in column]
        axes = subfigure.subplots(len(column), 1, squeeze=False, height_ratios=height_ratios)[:, 0]
        for panel, panel_axes in zip(column, axes, strict=True):
            fill(panel_axes, panel, machine_looks)
    entries = [
        Line2D([], [], color=colour, marker=marker, linestyle="", ms=4, label=layout.mark_published(name))
        for name, (colour, marker) in machine_looks.items()
    ]
    layout.legend(figure, entries)
    return figure


def balance_columns(all_panels):
    """The panels in COLUMNS of about the same height."""
    columns, heights = [[] for _ in range(min(COLUMNS, len(all_panels)))], [0.0] * COLUMNS
    for panel in all_panels:
        shortest = min(range(len(columns)), key=heights.__getitem__)
        columns[shortest].append(panel)
        heights[shortest] += MARGIN + ROW_HEIGHT * len(panel.rungs)
    return columns


def fill(axes, panel, machine_looks):
    """Draw a ladder's rungs from the top down, with their intervals."""
    values = []
    for y, by_machine in enumerate(panel.rungs.values()):
        for machine, ratio in by_machine.items():
            colour, marker = machine_looks[machine]
            if ratios.is_bounded(ratio.low, ratio.high):
                axes.plot([ratio.low, ratio.high], [y, y], color=colour, linewidth=0.8, zorder=1)
            axes.plot([ratio.value], [y], marker=marker, color=colour, markersize=3.5, linestyle="")
            values.append(ratio.value)
    axes.axvline(1, color=theme.GREY, linewidth=0.8, zorder=0)
    axes.set_yticks(range(len(panel.rungs)), list(panel.rungs))
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(len(panel.rungs) - 0.4, -0.6)
    scales.log_axis(axes.xaxis, (min(*values, 1) / 1.5, max(*values, 1) * 1.5), max_ticks=5)
    axes.grid(axis="both")
    axes.set_title(panel.title, loc="right")
