"""The table of a ladder: rung, its idea, the resource that it relieves, the time that a model predicts, the time."""

from dataclasses import dataclass

import pandas as pd

from ladder.report import latex
from ladder.report.cells import NONE
from ladder.statistics import claims
from ladder.store import study


@dataclass(frozen=True)
class Rung:
    """A line: the name in LaTeX, idea and resource as plain text, the predicted seconds or None, the rung's rows.

    The rows' seconds are those of what the table is about, such as one iteration of a solve.
    """

    name: str
    idea: str
    resource: str
    predicted: float | None
    rows: pd.DataFrame


def table(rungs, what):
    """The ladder as LaTeX; `what` names the time, None among the rungs is a rule.

    Without a single measurement, a sentence in its place.
    """
    if all(rung.rows.empty for rung in rungs if rung):
        return latex.table("", (), ())
    head = ["Rung", "Idea", "Relieves", "Model", what]
    columns = r"l>{\raggedright}p{0.42\linewidth}>{\raggedright}p{0.16\linewidth}rr"
    return latex.table(columns, head, [rung and cells(rung) for rung in rungs])


def cells(rung):
    """The cells of a rung."""
    predicted = latex.seconds(rung.predicted, 2) if rung.predicted else NONE
    return [rung.name, latex.prose(rung.idea), latex.prose(rung.resource) or NONE, predicted, measured(rung.rows)]


def measured(rows):
    """The median of the processes' medians."""
    return latex.seconds(claims.median_time(study.processes(rows))) if len(rows) else NONE
