"""The tables of all experiments, with queries in the terms of the study: a machine, sizes, variants, threads.

Samples of different cases are never put together. Where a place has room for one case, such as a cell of a table, and
there are several, which differ in a tuning that nothing there asks for, it is the first of the plan's (`one_case`):
none is picked by its time, and all tables speak of the same one.

A `Study` speaks of one machine, its subject; `of` gives the same study with another subject. An experiment, a column or
a case that isn't there gives an empty frame, never an error: what can be asked doesn't depend on what was measured.
"""

import functools
import operator
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pandas as pd

from ladder.errors import LadderError
from ladder.records import documents
from ladder.statistics import claims, selection
from ladder.store import PUBLISHED, peaks, roofs, stored

NO_ROWS = pd.DataFrame()
CASE = ["workload", "variant", "case"]
OF_ONE_RECORD = ["machine", "experiment", *CASE]


@dataclass(frozen=True)
class Study:
    """Tables by experiment and name, the subject's name (None: nothing was measured), descriptions by machine.

    `roofs` are the ceilings by machine, as the verb `roofs` writes them. `answers` are those that were given before
    about any subject, by question, since chapters ask the same again and again.
    """

    tables: dict
    subject: str | None
    descriptions: dict = field(default_factory=dict)
    roofs: dict | None = None
    answers: dict = field(default_factory=dict, init=False, repr=False, compare=False)

    def of(self, machine):
        """The same study about another machine."""
        other = replace(self, subject=machine)
        object.__setattr__(other, "answers", self.answers)
        return other

    def rows(self, name, experiment, **conditions):
        """The subject's rows of a table of an experiment, by the values of columns."""
        frame = self.tables.get(experiment, {}).get(name, NO_ROWS)
        question = name, experiment, self.subject, *sorted(conditions.items())
        cached_frame, rows = self.answers.get(question, (None, None))
        if cached_frame is not frame:
            rows = where(frame, machine=self.subject, **conditions)
            self.answers[question] = frame, rows
        return rows

    def samples(self, experiment, phase="total", **conditions):
        """The subject's timed calls of an experiment, the whole or one phase of it."""
        return self.rows("samples", experiment, phase=phase, **conditions)

    def machines(self):
        """The machines of which something was measured, this one's before the published ones."""
        frames = [tables["samples"] for tables in self.tables.values()]
        return ordered({name for frame in frames if len(frame) for name in frame["machine"].unique()})

    @functools.cached_property
    def ceilings(self):
        """The subject's ceilings, {rows}: those that are given, else the most that was ever seen in its tables."""
        return roofs.of_study(self) if self.roofs is None else self.roofs.get(self.subject, peaks.NONE)

    def everything(self, name, *columns):
        """These columns, as far as there are any, of one table of all experiments and machines.

        All columns would take a hundred times as long as some.
        """
        frames = [tables[name].filter(columns) for tables in self.tables.values() if len(tables[name])]
        return pd.concat(frames) if frames else NO_ROWS


def load(folders, machine, descriptions=(), ceilings=None):
    """The study in folders of tables, with the file of ceilings.

    Its subject is `machine` if it measured, else the first published one. Raises LadderError for ceilings that lack a
    published machine of the tables, whose shares would refer to nothing.
    """
    tables = {Path(folder).name: stored.load(folder) for folder in folders}
    about = {described_name(path): read_description(path) for path in descriptions}
    study = Study(tables, None, about, documents.read(ceilings, "roofs") if ceilings else None)
    machines = study.machines()
    if study.roofs is not None:
        for name in machines:
            if name.endswith(PUBLISHED) and name not in study.roofs:
                raise LadderError(f"{ceilings} has no ceilings of {name}. Delete it and make it again.")
    return study.of(machine if machine in machines else next(iter(machines), None))


def described_name(path):
    """The machine that a description is of, as the tables name it."""
    path = Path(path)
    return path.parent.name + PUBLISHED if path.name == "machine.json" else path.stem


def read_description(path):
    """A machine's description as `ladder describe` writes it, or as it lies in what was published."""
    if Path(path).name == "machine.json":
        return documents.read(path, "publication")["description"]
    return documents.read(path, "description")


def ordered(machines):
    """Names of machines, published ones last."""
    return sorted(machines, key=lambda name: (name.endswith(PUBLISHED), name))


def where(frame, **conditions):
    """The rows whose columns have these values; none where there is no such column."""
    if not set(conditions) <= set(frame.columns):
        return frame.iloc[:0]
    # At once, since picking rows takes longer than comparing them.
    wanted = [equal(frame[column], value) for column, value in conditions.items()]
    return frame[functools.reduce(operator.and_, wanted)] if wanted else frame


def equal(column, value):
    """Where a column has a value, as an array of bool, which takes a fraction of the time that pandas takes."""
    if isinstance(column.dtype, np.dtype):
        return np.broadcast_to(column.to_numpy() == value, len(column))
    return (column == value).to_numpy(dtype=bool, na_value=False)


def values(frame, column):
    """The distinct values of a column, sorted; none where there is no such column."""
    if column not in frame.columns:
        return []
    return sorted(value.item() if hasattr(value, "item") else value for value in frame[column].dropna().unique())


def one_case(rows):
    """The rows of the first case of some, from the first experiment that has it; all where no column tells cases."""
    if rows.empty:
        return rows
    columns = [rows[name].to_numpy() for name in OF_ONE_RECORD if name in rows.columns]
    is_first = np.logical_and.reduce([np.full(len(rows), True), *(column == column[0] for column in columns)])
    return rows if is_first.all() else rows[is_first]  # to pick rows takes longer than to compare them


def processes(rows):
    """The times of a case: seconds of every process, as lists; of several cases those of the first."""
    by_process = {}
    if len(rows):
        rows = one_case(rows)
        for process, seconds in zip(rows["process"].tolist(), rows["seconds"].tolist(), strict=True):
            by_process.setdefault(process, []).append(seconds)
    return [by_process[process] for process in sorted(by_process)]


def cases(*frames):
    """What some rows rest on, each (machine, workload, variant, case) once; none where a table doesn't say so."""
    columns = ["machine", *CASE]
    known = ((frame[name] for name in columns) for frame in frames if set(columns) <= set(frame.columns))
    return tuple(dict.fromkeys(case for values_of in known for case in zip(*values_of, strict=True)))


def middle(rows):
    """Seconds of the one case, the median over processes of the processes' medians; None without one."""
    return claims.median_time(processes(rows)) if len(rows) else None


def energy(frame):
    """Joules of a case's run, the median over processes; None where they weren't counted.

    Rows without `sustained` were published early; their energy includes the reading of the GPU's counter, so they don't
    count.
    """
    columns = ["joules", "sustained"]
    known = one_case(frame).dropna(subset=columns) if {*columns} <= {*frame.columns} else NO_ROWS
    return float(known.groupby("process")["joules"].median().median()) if len(known) else None


def of_processes(frame, column):
    """A row of a case for each process that has a value in a column, with this value as its seconds."""
    known = one_case(frame).dropna(subset=column) if column in frame else NO_ROWS
    return known.assign(seconds=known[column]).drop_duplicates("process") if len(known) else known


def sustained(frame):
    """A case's rows with the seconds of a run in a long sequence, one for each process that has them."""
    return of_processes(frame, "sustained")


def one_size(frame):
    """The rows of one size and cache protocol, so that cases never mix: those with the most work, cold before warm."""
    if frame.empty:
        return frame
    size = frame["case"].str.extract(r"^(.*,cache=[a-z]+)", expand=False)
    return frame[size == size[frame["flops"] == frame["flops"].max()].min()]


def count(frame, columns=CASE):
    """The number of different cases among some rows, or of what these columns distinguish."""
    return len(frame[columns].drop_duplicates()) if len(frame) else 0


def fastest(rows):
    """The rows of the case with the shortest median, of whichever variant; none of none."""
    if rows.empty:
        return rows
    names = ["variant", "case"]
    best = rows.groupby(names)["seconds"].median().idxmin()
    return where(rows, **dict(zip(names, best, strict=True)))


def by_case(frame):
    """The rows of every case of one variant."""
    return {case: where(frame, case=case) for case in values(frame, "case")}


def by_threads(frame):
    """The rows of every thread count."""
    return {threads: where(frame, threads=threads) for threads in values(frame, "threads")}


def chosen_apart(cases):
    """The key of the best of {key: rows} without empty ones, and its rows of the processes that didn't choose it.

    Every second process chooses, the others test (`selection.split_processes`). With fewer than four, one chooses and
    one or two test, from which there is a wide interval or none; a lone process does both, and has none.
    """
    best, _ = selection.choose_best({key: processes(rows) for key, rows in cases.items()})
    rows = cases[best]
    _, tested = selection.split_processes(values(rows, "process"))
    return best, rows[rows["process"].isin(tested)]


def best_rate(frame, work):
    """The best rate ever sampled, in `work` (the column flops or bytes) a second, or None."""
    return float((frame[work] / frame["seconds"]).max()) if len(frame) else None
