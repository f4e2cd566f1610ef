"""The figure of scaling: rates of lines by the number of cores or GPUs, with the ceiling, in panels."""

from collections.abc import Callable
from dataclasses import dataclass

import pandas as pd

from ladder.report.figures import by_threads, layout, medians
from ladder.report.figures.theme import Line2D
from ladder.report.telling.chapter_study import as_selection
from ladder.report.telling.lines import MAX, count_or_one

HEIGHT = 2.3  # inches of a panel
MARGIN = 0.7  # inches of it above and below its axes
UNITS = {"bytes": "GB/s", "flops": "GFLOP/s"}


@dataclass(frozen=True)
class Panel:
    """Lines on the machine of a role, [(selection, Look)]; `axis_label` is that of their axis, such as cores.

    `ceiling(machine)` returns {number of cores or GPUs: work per second}.
    """

    role: str
    lines: list
    axis_label: str
    ceiling: Callable


def figure(study, panels, work, ceiling_label, subject):
    """The figure of the panels with measurements; `work` is bytes or flops, `subject` what an empty figure lacks."""
    groups = {}
    for panel in panels:
        if len(summaries := summaries_of(study, panel, work)):
            arguments = study, panel, summaries, UNITS[work], HEIGHT - MARGIN
            groups.setdefault(study.machine(panel.role).machine_name, []).append(arguments)
    if not groups:
        return layout.empty(subject)
    figure, _ = layout.panels(groups, fill, HEIGHT, 0.55)
    converged = all(summaries["converged"].all() for group in groups.values() for _, _, summaries, *_ in group)
    layout.legend(figure, [Line2D([], [], **by_threads.CEILING, label=ceiling_label)], converged)
    return figure


def summaries_of(study, panel, work):
    """Rates of all lines of a panel in 1e9 per second: a row for each line and number of cores or GPUs, `count`."""
    rates = []
    for selection, look in panel.lines:
        if len(rows := rows_by_count(study, selection)):
            rows = rows.assign(method=look.label, count=[processor_count(row) for row in rows.to_dict("records")])
            summaries = medians.first_cases(medians.summaries(rows, ("method", "count")), ("method", "count"))
            rates.append(medians.rates(summaries, rows[work].iloc[0] / 1e9))
    return pd.concat(rates or [pd.DataFrame()])


def rows_by_count(study, selection):
    """The rows of a selection at every measured value of its tunings that are MAX, a case for each."""
    selection = as_selection(selection)
    varying = [name for name, value in study.line(selection).tuning.items() if value == MAX]
    frame = study.frame(study.source_of(selection))
    counts = {tuple(row) for row in frame[varying].dropna().to_numpy()} if {*varying} <= {*frame.columns} else ()
    cases = [study.find(selection.with_tuning(**dict(zip(varying, count, strict=True)))) for count in counts]
    return pd.concat([rows for rows in cases if len(rows)] or [pd.DataFrame()])


def processor_count(row):
    """The number of GPUs of a case with a GPU for each rank, or else of its cores, threads times ranks."""
    return count_or_one(row, "ranks") * (1 if row["device"] == "mpi_cuda" else count_or_one(row, "threads"))


def fill(axes, study, panel, summaries, unit, inches):
    """Draw the lines of a panel, with their names at their ends, and the ceiling."""
    looks_by_name, counts = {look.label: look for _, look in panel.lines}, set(summaries["count"])
    rates = panel.ceiling(study.machine(panel.role)).items()
    ceiling = {count: rate / 1e9 for count, rate in rates if count in counts}
    by_threads.fill_rates(axes, summaries, "count", looks_by_name, ceiling, inches)
    axes.set_title(unit)
    axes.set_xlabel(panel.axis_label)
