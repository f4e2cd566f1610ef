"""Parts of tables of every case: the cases in order, the cells of a case's rate and phases."""

import math

import pandas as pd

from ladder.report.cells import NONE, median
from ladder.report.latex import code, digits, percent, seconds
from ladder.report.telling.chapter_study import phase_times, whole
from ladder.store import study

ORDER = ("variant", "mode", "ranks", "threads", "case")


def cases(rows):
    """The rows of every case, by variant, then by ranks and threads."""
    by = [name for name in ORDER if name in rows]
    return [case for _, case in rows.groupby(by, sort=True, dropna=False)] if len(rows) else []


def by_size(rows, *names):
    """[(sizes, cases)] of rows, sorted by the product of the sizes."""
    if rows.empty:
        return []
    sizes = sorted(set(rows[list(names)].itertuples(index=False, name=None)), key=lambda size: (math.prod(size), size))
    return [(size, cases(study.where(rows, **dict(zip(names, size, strict=True))))) for size in sizes]


def rows_by_size(rows, row, *names):
    """The cells that `row` makes of every case, with rules between sizes."""
    return ruled([[row(case) for case in every] for _, every in by_size(rows, *names)])


def codes(rows, *columns):
    """The values of columns as code, as far as a case states them."""
    return [code(rows[name].iloc[0]) for name in columns if isinstance(rows.iloc[0].get(name), str)]


def ruled(groups):
    """The rows of several groups with rules between the groups."""
    return [row for group in groups if group for row in (None, *group)][1:]


def rate_cells(chapter, machine, rows):
    """A case's time, its rate in GB/s, and the share of the predicted rate."""
    if rows.empty:
        return [NONE] * 3
    predicted = chapter.model.predict(machine, rows.iloc[0])
    time = study.middle(rows.assign(seconds=chapter.per_unit(rows)) if chapter.per_unit else rows)
    rate = rows["bytes"].iloc[0] / study.middle(rows)
    return [median(rows), digits(rate / 1e9), percent(predicted / time) if predicted else NONE]


def phase_cells(chapter, machine, rows, names):
    """A case's time, the times of its phases of these names, and the sum of the phases of every call over the call."""
    phases = chapter.phases_of(machine, rows)
    times = phase_times(pd.concat([phases, chapter.phases_of(machine, rows, before=True)]))
    share = whole(rows, phases)
    cells = (seconds(times[name]) if name in times else NONE for name in names)
    return [median(rows), *cells, digits(share, 2) if share else NONE]
