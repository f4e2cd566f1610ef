"""The table of a ladder: rung, its idea, the resource that it relieves, the time that a model predicts, the time."""

from dataclasses import dataclass

import pandas as pd

from ladder.report import latex, study
from ladder.report.cells import NONE
from ladder.statistics import claims


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
    if all(one.rows.empty for one in rungs if one):
        return latex.table("", (), ())
    head = ["Rung", "Idea", "Relieves", "Model", what]
    columns = r"l>{\raggedright}p{0.42\linewidth}>{\raggedright}p{0.16\linewidth}rr"
    return latex.table(columns, head, [one and cells(one) for one in rungs])


def cells(one):
    """The cells of a rung."""
    predicted = latex.seconds(one.predicted, 2) if one.predicted else NONE
    return [one.name, latex.prose(one.idea), latex.prose(one.resource) or NONE, predicted, measured(one.rows)]


def measured(rows):
    """The median of the processes' medians."""
    return latex.seconds(claims.middle(study.processes(rows))) if len(rows) else NONE
