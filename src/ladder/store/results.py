"""The stored results of a system, a workload: timed calls of this folder's records, published campaigns and machines.

Each case comes from one origin: its record, or else the campaigns that measured it, or else the folder of its
machine. Nothing is built or measured; a system's rows are read without those of the other systems.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from ladder.catalogue import workloads
from ladder.errors import LadderError, did_you_mean, enumerate_words
from ladder.records import record
from ladder.store import collect, data_package, published_tables, roofs, study, table_files

RECORDS = Path("results/records")
CASE_COLUMNS = ["variant", "case"]
FROM_RECORDS, FROM_CAMPAIGNS, FROM_MACHINE = "records", "campaigns", "machine"  # the values of the column `origin`


@dataclass(frozen=True)
class Results:
    """What a machine measured of a system: the rows of its timed calls, and a Study that has only its ceilings.

    `processors` are those of the published machine in words; empty if nothing is published of it. A row has the columns
    of `samples` and `origin`, one of FROM_RECORDS, FROM_CAMPAIGNS and FROM_MACHINE.
    """

    machine: str
    calls: pd.DataFrame
    ceilings: study.Study
    processors: str


def load(workload: str, machines: Sequence[str] = ()) -> dict[str, Results]:
    """The Results of a system on these machines, or on all that measured it, {machine: Results}.

    Raises LadderError for an unknown system, and for a machine without results of it.
    """
    workloads.workload_path(workload)
    ceiling_workloads = {name for name in workloads.names() if roofs.stated_ceiling(name)}
    parts = read({workload, *ceiling_workloads}, machines)
    measured = [
        name for name, frames in sorted(parts.items()) if any((rows["workload"] == workload).any() for rows in frames)
    ]
    for machine in machines:
        require_measured(workload, machine, measured)
    if not measured:
        raise LadderError(f"There are no stored results of {workload}: measure some with `snakemake`.")
    return {machine: results_of_machine(workload, machine, parts[machine]) for machine in measured}


def parameter_names(results: Iterable[Results]) -> list[str]:
    """The names of the sizes and tunings of stored cases, in the order of their slugs."""
    slugs = dict.fromkeys(slug for machine_results in results for slug in machine_results.calls["case"].unique())
    return list(dict.fromkeys(pair.partition("=")[0] for slug in slugs for pair in slug.split(",")))


def require_matches(matches: Mapping[str, Any], filters: Mapping[str, str], workload: str) -> None:
    """Refuse filters that no stored case matches; `matches` are the matches by machine."""
    if not any(matches.values()):
        wanted = ", ".join(f"{name}={value}" for name, value in filters.items())
        raise LadderError(
            f"There are no stored results of {workload} with {wanted} on {' or '.join(matches)}: `ladder show "
            f"{workload}` lists the sizes that there are."
        )


def require_measured(workload: str, machine: str, measured: Sequence[str]) -> None:
    """Refuse a machine that has no results of a system."""
    if machine in measured:
        return
    measured = measured or list(load(workload))
    longer_names = [name for name in measured if machine in name]
    hint = (
        f" Did you mean {enumerate_words(map(repr, longer_names), 'or')}?"
        if longer_names
        else did_you_mean(machine, measured)
    )
    raise LadderError(
        f"No results of {workload} on {machine} are stored: there are some on {', '.join(measured)}.{hint}"
    )


def results_of_machine(workload: str, machine: str, frames: Sequence[pd.DataFrame]) -> Results:
    """The Results of a system from a machine's rows by origin, which include those of its ceilings."""
    ceilings = {machine: roofs.of_samples(collect.concatenate(frames))}
    system_frames = [rows[rows["workload"] == workload] for rows in frames]
    calls = select_first_origins([first_experiments(rows) for rows in system_frames if len(rows)])
    return Results(machine, calls, study.Study({}, machine, roofs=ceilings), processors_of(machine))


def processors_of(machine: str) -> str:
    """The processors of a published machine in words; empty if nothing is published of it."""
    publications = map(data_package.publication, data_package.folders())
    description = next((content["description"] for content in publications if content["machine"] == machine), None)
    return ", ".join(filter(None, reversed(data_package.processors(description)))) if description else ""


def read(systems: Collection[str], machines: Collection[str] = ()) -> dict[str, list[pd.DataFrame]]:
    """The rows of timed calls of some systems, {machine: [rows of one origin]}: of these machines, or of all."""
    parts: dict[str, list[pd.DataFrame]] = {}
    for number, (origin, frame) in enumerate([*record_rows(systems, machines), *published_rows(systems, machines)]):
        if len(frame):
            calls = frame[frame["phase"] == "total"].assign(origin=origin)
            process_numbers = calls["process"] + published_tables.PROCESS_OFFSET * number * (origin == FROM_CAMPAIGNS)
            parts.setdefault(calls["machine"].iloc[0], []).append(calls.assign(process=process_numbers))
    return parts


def record_rows(systems: Collection[str], machines: Collection[str]) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield (FROM_RECORDS, rows) for each machine that has records below this folder."""
    for folder in sorted(RECORDS.glob("*")):
        if machines and folder.name not in machines:
            continue
        rows = []
        for path in sorted(path for name in systems for path in folder.glob(f"{name}/*/*.json")):
            content = record.read(path)
            key = (content[name] for name in ("workload", "variant", "case"))
            rows += collect.rows_of(content, collect.case_columns(folder.name, "", *key))["samples"]
        if rows:
            yield FROM_RECORDS, table_files.with_types(pd.DataFrame(rows))


def published_rows(systems: Collection[str], machines: Collection[str]) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield (FROM_CAMPAIGNS or FROM_MACHINE, rows) for each published folder of these machines, campaigns first."""
    for folder in reversed(data_package.folders()):
        if machines and data_package.publication(folder)["machine"] not in machines:
            continue
        path = folder / "samples.csv.gz"
        lines = select_lines(path, systems)
        frame = table_files.parse(path, "samples", partial(list, lines), is_part=True)
        yield FROM_CAMPAIGNS if published_tables.is_campaign(folder) else FROM_MACHINE, frame


def select_lines(path: Path, systems: Collection[str]) -> list[str]:
    """The header of a published table and its lines of some systems."""
    header, *lines = table_files.published_lines(path, "samples")
    return [header, *(line for line in lines if line.split(",", 3)[2] in systems)]


def select_first_origins(frames: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """The rows of all frames, each case from the first origin that has it: frames are in the order of origins."""
    origins: dict[tuple[Any, ...], str] = {}
    parts = []
    for frame in frames:
        origin = frame["origin"].iloc[0]
        cases = frame[CASE_COLUMNS].itertuples(index=False, name=None)
        parts.append(frame[[origins.setdefault(case, origin) == origin for case in cases]])
    return collect.concatenate(parts)


def first_experiments(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows of each case in the first experiment that has it: the others repeat the same samples."""
    first = rows.groupby(CASE_COLUMNS)["experiment"].transform("first")
    return rows[rows["experiment"] == first].dropna(axis="columns", how="all")
