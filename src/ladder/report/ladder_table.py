"""The table of a ladder: for each rung its idea, the resource that it saves, the predicted and the measured time."""

from dataclasses import dataclass

import pandas as pd

from ladder.report import latex
from ladder.report.cells import NONE
from ladder.statistics import quotients
from ladder.store import study


@dataclass(frozen=True)
class Rung:
    """A row of the table: the name in LaTeX, idea and resource as plain text, predicted seconds or None, timed calls.

    The seconds of `rows` are those of the table's unit, such as one iteration of a solve.
    """

    name: str
    idea: str
    resource: str
    predicted: float | None
    rows: pd.DataFrame


def table(rungs, unit):
    """The ladder as LaTeX, or a sentence if nothing was measured; `unit` heads the column of measured times.

    A None in `rungs` becomes a horizontal rule.
    """
    if all(rung.rows.empty for rung in rungs if rung):
        return latex.table("", (), ())
    head = ["Rung", "Idea", "Relieves", "Model", unit]
    columns = r"l>{\raggedright}p{0.42\linewidth}>{\raggedright}p{0.16\linewidth}rr"
    return latex.table(columns, head, [rung and cells(rung) for rung in rungs])


def ladders(chapter_study):
    """The keys of the lines of each ladder of a chapter, [[key]]: a line with `begins` starts a further ladder."""
    groups = []
    for keys in chapter_study.table:
        groups.append([])
        for key in keys:
            if chapter_study.line(key).begins and groups[-1]:
                groups.append([])
            groups[-1].append(key)
    return groups


def cells(rung):
    """The cells of a rung."""
    predicted = latex.seconds(rung.predicted, 2) if rung.predicted else NONE
    return [rung.name, latex.prose(rung.idea), latex.prose(rung.resource) or NONE, predicted, measured_time(rung.rows)]


def measured_time(rows):
    """The measured time, the median of the processes' medians, in LaTeX."""
    return latex.seconds(quotients.median_time(study.processes(rows))) if len(rows) else NONE
