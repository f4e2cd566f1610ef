"""The tables of all experiments, with queries in the terms of the study: a machine, sizes, variants, threads.

Samples of different cases are never pooled. If a query that needs one case, such as that of a table's cell, matches
several, which differ in some tuning, it takes the first in the order of the plan (`first_case`). No case is picked by
its time, and all tables show the same one.

The queries of a `Study` are about one machine, `machine_name`; `for_machine` returns it about another one. An unknown
experiment, column or case gives an empty frame, never an error: the same queries work whatever was measured.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ladder.errors import LadderError
from ladder.records import documents
from ladder.statistics import quotients, selection
from ladder.store import PUBLISHED_SUFFIX, ceiling_rates, roofs, table_files

NO_ROWS = pd.DataFrame()
# The columns that identify a case, and those that identify its record in an experiment.
CASE = ["workload", "variant", "case"]
RECORD = ["machine", "experiment", *CASE]


@dataclass(frozen=True)
class Study:
    """The tables {experiment: {name: frame}}, its machine's name (None: nothing was measured), {machine: description}.

    `roofs` are {machine: ceilings}, as the verb `roofs` writes them, and `campaigns` the published ones, {name: its
    machine.json}; `publication_dates` are {machine: when its own tables were published, or None}. `answers` caches
    results of queries about any machine.
    """

    tables: dict
    machine_name: str | None
    descriptions: dict = field(default_factory=dict)
    roofs: dict | None = None
    campaigns: dict = field(default_factory=dict)
    publication_dates: dict = field(default_factory=dict)
    answers: dict = field(default_factory=dict, init=False, repr=False, compare=False)

    def for_machine(self, machine: str | None) -> Study:
        """The same study about another machine."""
        other = replace(self, machine_name=machine)
        object.__setattr__(other, "answers", self.answers)
        return other

    def rows(self, name: str, experiment: str, **conditions: Any) -> pd.DataFrame:
        """The machine's rows of a table of an experiment, with these values of columns."""
        frame = self.tables.get(experiment, {}).get(name, NO_ROWS)
        query = name, experiment, self.machine_name, *sorted(conditions.items())
        cached_frame, rows = self.answers.get(query, (None, None))
        if cached_frame is not frame:
            rows = where(frame, machine=self.machine_name, **conditions)
            self.answers[query] = frame, rows
        return rows

    def of_case(self, name: str, rows: pd.DataFrame, **conditions: Any) -> pd.DataFrame:
        """The machine's rows of a table of the case of some rows, with these values of columns; none without rows."""
        if rows.empty:
            return NO_ROWS
        first = rows.iloc[0]
        return self.rows(name, first["experiment"], variant=first["variant"], case=first["case"], **conditions)

    def samples(self, experiment: str, phase: str = "total", **conditions: Any) -> pd.DataFrame:
        """The machine's rows of an experiment's samples: whole timed calls, or one phase of them."""
        return self.rows("samples", experiment, phase=phase, **conditions)

    def machines(self) -> list[str]:
        """The names of the machines with measurements, published ones last."""
        if Study.machines not in self.answers:
            frames = [tables["samples"] for tables in self.tables.values() if len(tables["samples"])]
            names = {name for frame in frames for name in frame["machine"].unique()}
            self.answers[Study.machines] = sort_machines(names)
        return self.answers[Study.machines]

    @property
    def description(self) -> dict[str, Any]:
        """The machine's description; {} without one."""
        return self.descriptions.get(self.machine_name, {})

    @functools.cached_property
    def ceilings(self) -> dict[str, Any]:
        """The machine's ceilings, {rows}: those of the file `roofs` if there is one, else from its tables."""
        return (
            roofs.of_study(self) if self.roofs is None else self.roofs.get(self.machine_name, ceiling_rates.NO_CEILINGS)
        )

    def have_converged(self, cases: Iterable[tuple[str, str, str, str]]) -> bool:
        """Whether all processes of some cases, each (machine, workload, variant, case), converged."""
        return self.unconverged_cases.isdisjoint(cases)

    @functools.cached_property
    def unconverged_cases(self) -> set[tuple[str, str, str, str]]:
        """The cases with a process whose median's interval wasn't within the target."""
        samples = self.all_rows("samples", "machine", *CASE, "converged")
        rows = samples[~samples["converged"].astype(bool)] if len(samples) else samples
        return {*rows[["machine", *CASE]].drop_duplicates().itertuples(index=False, name=None)} if len(rows) else set()

    def all_rows(self, name: str, *columns: str) -> pd.DataFrame:
        """One table of all experiments and machines, with those of these columns that exist.

        Concatenating all columns would take a hundred times longer.
        """
        frames = [tables[name].filter(columns) for tables in self.tables.values() if len(tables[name])]
        return pd.concat(frames) if frames else NO_ROWS


def load(
    folders: Sequence[str],
    machine: str | None,
    descriptions: Sequence[Path | str] = (),
    ceilings: Path | str | None = None,
) -> Study:
    """The study in folders of tables; `ceilings` is the file that the verb `roofs` writes.

    It is about `machine` if that has measurements, else the first of `machines()`. Raises LadderError if the file
    has no ceilings of a published machine of the tables.
    """
    tables = {Path(folder).name: table_files.load(folder) for folder in folders}
    by_machine = {described_name(path): read_description(path) for path in descriptions}
    campaigns = campaigns_of(descriptions)
    for publication in campaigns.values():  # a machine of which only campaigns are published
        by_machine.setdefault(publication["machine"] + PUBLISHED_SUFFIX, publication["description"])
    machine_ceilings = documents.read(ceilings, "roofs") if ceilings else None
    study = Study(tables, None, by_machine, machine_ceilings, campaigns, dates_of(descriptions))
    machines = study.machines()
    if study.roofs is not None:
        for name in machines:
            if name.endswith(PUBLISHED_SUFFIX) and name not in study.roofs:
                raise LadderError(f"{ceilings} has no ceilings of {name}. Delete it and make it again.")
    return study.for_machine(machine if machine in machines else next(iter(machines), None))


def described_name(path: Path | str) -> str:
    """The machine that a description is of, as the tables name it; of a campaign's file, the campaign."""
    path = Path(path)
    return path.parent.name + PUBLISHED_SUFFIX if path.name == "machine.json" else path.stem


def campaigns_of(descriptions: Sequence[Path | str]) -> dict[str, Any]:
    """The published campaigns, {name: its machine.json}, in the order of their beginnings."""
    paths = [path for path in map(Path, descriptions) if path.name == "machine.json"]
    publications = [content for path in paths if "campaign" in (content := documents.read(path, "publication"))]
    in_order = sorted(publications, key=lambda publication: publication["campaign"]["began"])
    return {publication["campaign"]["name"]: publication for publication in in_order}


def dates_of(descriptions: Sequence[Path | str]) -> dict[str, str | None]:
    """When the tables of machines were published, {machine: date and time, or None}, for machines with tables."""
    published = {
        path: documents.read(path, "publication") for path in map(Path, descriptions) if path.name == "machine.json"
    }
    return {
        described_name(path): content.get("published")
        for path, content in published.items()
        if "campaign" not in content
    }


def read_description(path: Path | str) -> dict[str, Any]:
    """A machine's description, from a file of `ladder describe` or from the `machine.json` of a publication."""
    if Path(path).name == "machine.json":
        return documents.read(path, "publication")["description"]
    return documents.read(path, "description")


def sort_machines(machines: Iterable[str]) -> list[str]:
    """Names of machines, published ones last."""
    return sorted(machines, key=lambda name: (name.endswith(PUBLISHED_SUFFIX), name))


def where(frame: pd.DataFrame, **conditions: Any) -> pd.DataFrame:
    """The rows whose columns have these values; none if a column is missing."""
    if not set(conditions) <= set(frame.columns):
        return frame.iloc[:0]
    # One selection for all conditions, because selecting rows takes longer than comparing them.
    masks = [is_equal(frame[column], value) for column, value in conditions.items()]
    return frame[functools.reduce(operator.and_, masks)] if masks else frame


def is_equal(column: pd.Series, value: Any) -> np.ndarray:
    """Whether each row of a column has a value: an array of bool, in a fraction of the time of pandas' `==`."""
    if isinstance(column.dtype, np.dtype):
        return np.broadcast_to(column.to_numpy() == value, len(column))
    return (column == value).to_numpy(dtype=bool, na_value=False)


def values(frame: pd.DataFrame, column: str) -> list[Any]:
    """The distinct values of a column, sorted; none if the column is missing."""
    if column not in frame.columns:
        return []
    return sorted(value.item() if hasattr(value, "item") else value for value in frame[column].dropna().unique())


def first_case(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows of the first row's case, machine and experiment; all rows if none of these columns exists."""
    if rows.empty:
        return rows
    columns = [rows[name].to_numpy() for name in RECORD if name in rows.columns]
    is_first = np.logical_and.reduce([np.full(len(rows), True), *(column == column[0] for column in columns)])
    return rows if is_first.all() else rows[is_first]  # selecting rows takes longer than comparing them


def processes(rows: pd.DataFrame) -> list[list[float]]:
    """The times of a case, a list of seconds for every process; of several cases those of the first."""
    if rows.empty:
        return []
    rows = first_case(rows)
    return in_order(group(rows["process"].tolist(), rows["seconds"].tolist()))


def group(keys: Iterable[Any], items: Iterable[Any]) -> dict[Any, list[Any]]:
    """The items with each key, {key: [item]}, in a fraction of the time of pandas' `groupby` for the rows of a case."""
    groups: dict[Any, list[Any]] = {}
    for key, item in zip(keys, items, strict=True):
        groups.setdefault(key, []).append(item)
    return groups


def in_order(groups: Mapping[Any, list[Any]]) -> list[list[Any]]:
    """The groups of {key: group}, in the order of their keys."""
    return [groups[key] for key in sorted(groups)]


def rows_of_first_processes(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows of the first process of each case; later campaigns have larger numbers of processes."""
    return rows[rows["process"] == rows.groupby("case")["process"].transform("min")] if len(rows) else rows


def by_campaign(rows: pd.DataFrame) -> dict[str | None, list[list[float]]]:
    """The times of a case by campaign, {name: as in `processes`}: "" of rows without one, None without the column."""
    if rows.empty or "campaign" not in rows:
        return {None: processes(rows)}
    rows = first_case(rows)
    times = zip(rows["process"].tolist(), rows["seconds"].tolist(), strict=True)
    campaigns = group(rows["campaign"].fillna("").tolist(), times)
    return {name: in_order(group(*zip(*campaigns[name], strict=True))) for name in sorted(campaigns)}


def cases(*frames: pd.DataFrame) -> tuple[tuple[str, str, str, str], ...]:
    """The distinct (machine, workload, variant, case) of some rows; none of a frame without these columns."""
    columns = ["machine", *CASE]
    columns_of = ((frame[name] for name in columns) for frame in frames if set(columns) <= set(frame.columns))
    return tuple(dict.fromkeys(case for column_values in columns_of for case in zip(*column_values, strict=True)))


def pass_totals(phases: pd.DataFrame) -> pd.DataFrame:
    """Rows of some phases of a case, those of one pass added up to one row."""
    if phases.empty:
        return phases
    phases, keys = first_case(phases), ["process", "sample"]
    return phases.assign(seconds=phases.groupby(keys)["seconds"].transform("sum")).drop_duplicates(keys)


def phase_times(phases: pd.DataFrame) -> dict[str, float]:
    """{phase: seconds} of a case, the medians over processes; parts of a pass with the same phase are added up."""
    times: dict[str, dict[Any, dict[Any, float]]] = {}
    if len(phases):
        rows = first_case(phases)
        columns = (rows[name].tolist() for name in ("phase", "process", "sample", "seconds"))
        for phase, process, sample, seconds in zip(*columns, strict=True):
            times_by_sample = times.setdefault(phase, {}).setdefault(process, {})
            times_by_sample[sample] = times_by_sample.get(sample, 0.0) + seconds
    return {
        phase: quotients.median_time([[*by_sample.values()] for _, by_sample in sorted(by_process.items())])
        for phase, by_process in times.items()
    }


def median_time(rows: pd.DataFrame) -> float | None:
    """Seconds of a case: the median over processes of each process's median; None without rows."""
    return quotients.median_time(processes(rows)) if len(rows) else None


def energy(frame: pd.DataFrame) -> float | None:
    """Joules of a case's run, the median over processes; None if they weren't measured.

    Rows without `sustained` were published early and are ignored: their energy includes reading the GPU's counter.
    """
    columns = ["joules", "sustained"]
    rows = first_case(frame).dropna(subset=columns) if {*columns} <= {*frame.columns} else NO_ROWS
    return float(rows.groupby("process")["joules"].median().median()) if len(rows) else None


def process_values(frame: pd.DataFrame, column: str) -> pd.DataFrame:
    """A case's rows, one for each process that has a value in a column, with this value as `seconds`."""
    rows = first_case(frame).dropna(subset=column) if column in frame else NO_ROWS
    return rows.assign(seconds=rows[column]).drop_duplicates("process") if len(rows) else rows


def sustained(frame: pd.DataFrame) -> pd.DataFrame:
    """A case's rows, one for each process, with the mean seconds of a run in a long sequence of runs."""
    return process_values(frame, "sustained")


def largest_size(frame: pd.DataFrame) -> pd.DataFrame:
    """The rows of the size with the most FLOPs and of one cache protocol, cold if there is one."""
    if frame.empty:
        return frame
    size = frame["case"].str.extract(r"^(.*,cache=[a-z]+)", expand=False)
    return frame[size == size[frame["flops"] == frame["flops"].max()].min()]


def count_cases(frame: pd.DataFrame, columns: Sequence[str] = CASE) -> int:
    """The number of distinct cases among some rows, or of distinct values of these columns."""
    return len(frame[columns].drop_duplicates()) if len(frame) else 0


def fastest(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows of the case with the shortest median, of any variant; none without rows."""
    if rows.empty:
        return rows
    names = ["variant", "case"]
    best = rows.groupby(names)["seconds"].median().idxmin()
    return where(rows, **dict(zip(names, best, strict=True)))


def by_case(frame: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """{case: rows} of the cases of one variant."""
    return {case: where(frame, case=case) for case in values(frame, "case")}


def by_threads(frame: pd.DataFrame) -> dict[int, pd.DataFrame]:
    """{number of threads: rows}."""
    return {threads: where(frame, threads=threads) for threads in values(frame, "threads")}


def best_and_test_rows(cases: Mapping[Any, pd.DataFrame]) -> tuple[Any, pd.DataFrame]:
    """The key of the fastest case of {key: rows}, none of them empty, and its rows of the processes for tests.

    Every second process chooses, the others test (`selection.split_processes`). With two or three processes one
    chooses, and the interval is wide or missing; a single process does both, and has no interval.
    """
    best, _ = selection.choose_best({key: processes(rows) for key, rows in cases.items()})
    rows = cases[best]
    _, test_processes = selection.split_processes(values(rows, "process"))
    return best, rows[rows["process"].isin(test_processes)]


def best_rate(frame: pd.DataFrame, work: str) -> float | None:
    """The best sampled rate in FLOP/s or B/s, by the column `work` (flops or bytes); None without rows."""
    return float((frame[work] / frame["seconds"]).max()) if len(frame) else None
