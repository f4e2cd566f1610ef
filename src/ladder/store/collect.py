"""Tidy tables from records and published measurements, one folder per experiment.

| table | a row is | columns besides those of the case |
| --- | --- | --- |
| samples.csv | one timed call, or one phase of one pass | process, sample, phase (`total` is the headline), seconds |
| checks.csv | one comparison with the reference | check, error, bound |
| curves.csv | one point of a curve | process, and what the workload's CURVE names, such as epoch and loss |
| traces.csv | one event of a trace, in one lane | process, lane, name, start, end (seconds) |
| missing.csv | a case of the plan without a record | why |

The columns of a case in all tables: machine (with " (published)" if its rows are), experiment, workload, variant, case,
cache, and every size and tuning by its name. `columns` explains each; tables that were published early lack some.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from ladder.errors import LadderError
from ladder.harness import traces
from ladder.machine import revision
from ladder.machine.nvidia import THROTTLING
from ladder.records import checksums, record
from ladder.records.case import Case
from ladder.store import TABLES, headers, table_files
from ladder.store.published_tables import CASE_COLUMNS, PublishedTables

# The entries of a process's state that are averages over repeated runs.
RUN_AVERAGES = ("joules", "sustained")
# Entries of a record that say where, and in which stretch of measuring, it was made.
ORIGIN_FIELDS = ("campaign", "host")


def collect(plan: Mapping[str, Any], folder: Path | str, published: PublishedTables | None = None) -> None:
    """Write an experiment's tables.

    `plan` is {experiment, cases: [{key, machine, left_out, sources}]}. `left_out` is the reason why a case is skipped,
    or None. Raises LadderError for a record of other sources than the plan's: it was measured with code that has
    changed since.
    """
    tables: dict[str, list[pd.DataFrame]] = {name: [] for name in TABLES}
    for planned in plan["cases"]:
        path = Path(record.path_of(planned["machine"], planned["key"]))
        columns = case_columns(planned["machine"], plan["experiment"], *planned["key"].split("/"))
        if planned["left_out"]:
            tables["missing"].append(columns | {"why": planned["left_out"]})
        elif not path.exists():
            tables["missing"].append(columns | {"why": "not measured"})
        else:
            document = record.read(path)
            if document["sources"] != planned["sources"]:
                raise LadderError(f"{path} was measured with code that has changed since: delete it and measure again.")
            for name, rows in rows_of(document, columns).items():
                tables[name] += rows
    published = published or PublishedTables([])
    frames = {}
    for name, rows in tables.items():
        # Published rows are skipped if there are new ones of the same case on the same machine.
        new_keys = {key_of(row) for row in [*rows, *tables["samples"]]}
        parts = published.frames(name, plan["experiment"], new_keys)
        frames[name] = concatenate([pd.DataFrame(rows), *parts])
    for name, frame in frames.items():  # only after everything has been read without an error
        write_table(folder, name, frame)
    checksums.write(folder, [f"{name}.csv" for name in tables])


def case_columns(machine: str, experiment: str, workload: str, variant: str, slug: str) -> dict[str, Any]:
    """The columns that a case has in every table."""
    case = Case.parse(workload, variant, slug)
    names = {"machine": machine, "experiment": experiment, "workload": workload, "variant": variant, "case": slug}
    return names | {"cache": case.cache} | case.sizes | case.tuning | case.variables


def rows_of(document: Mapping[str, Any], columns: dict[str, Any]) -> dict[str, Any]:
    """The rows that a record adds to each table, {table: [row]}; `columns` are those of its case."""
    record_columns = columns | {"device": document["device"], "converged": document["converged"]} | document["cost"]
    record_columns["commit"] = revision.format(document["source"])
    record_columns |= {name: document[name] for name in ORIGIN_FIELDS if name in document}
    if document.get("gpus"):
        record_columns["gpu"] = " ".join(document["gpus"])
    rows: dict[str, list[dict[str, Any]]] = {"samples": [], "checks": [], "curves": [], "traces": []}
    for number, process in enumerate(document["processes"]):
        threads = max(process["threads"]["runtimes"].values(), default=1)
        process_columns = record_columns | process.get("facts", {}) | {"process": number, "threads_found": threads}
        if "ranks" in process["threads"]:
            process_columns["nodes"] = len({rank["node"] for rank in process["threads"]["ranks"]})
        reasons = process.get("state", {}).get("reasons")
        if reasons is not None:
            process_columns["throttled"] = not THROTTLING.isdisjoint(reasons)
        has_cold_start = document["protocol"].get("cold_start", True)
        # Ranks have a column of their own: under `cold_start`, some published ones include waiting for another rank.
        name = "cold_start_of_ranks" if "ranks" in process["threads"] else "cold_start"
        call_columns = {name: process["setup"] + process["first"]} if has_cold_start else {}
        call_columns |= {name: process["state"][name] for name in RUN_AVERAGES if name in process.get("state", {})}
        rows["samples"] += [
            process_columns | {"sample": index, "phase": "total", "seconds": seconds} | call_columns
            for index, seconds in enumerate(process["samples"])
        ]
        rows["samples"] += [
            process_columns | {"sample": index, "phase": phase, "seconds": seconds} | imbalance(process, index, phase)
            for index, phases in enumerate(process["phases"])
            for phase, seconds in phases.items()
        ]
        rows["checks"] += [
            columns | {"process": number, "check": check["name"], "error": check["error"], "bound": check["bound"]}
            for check in process["checks"]
        ]
        rows["curves"] += [columns | {"process": number} | point for point in process["curve"]]
        rows["traces"] += [
            columns | {"process": number} | dict(zip(traces.COLUMNS, row, strict=True))
            for row in process.get("trace", [])
        ]
    return rows


def imbalance(process: Mapping[str, Any], index: int, phase: str) -> dict[str, float]:
    """{"imbalance": ratio} of a phase in the pass `index`: the slowest rank over the mean; {} without ranks."""
    if "by_rank" not in process:
        return {}
    seconds = process["by_rank"][index][phase]
    # All ranks may have 0 seconds, by the resolution of a clock.
    return {"imbalance": max(seconds) * len(seconds) / sum(seconds) if any(seconds) else 1.0}


def key_of(row: Mapping[str, Any]) -> tuple[str, str, str, str]:
    """The machine and the case of a row."""
    return tuple(row[name] for name in CASE_COLUMNS)


def concatenate(frames: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """The rows of all frames; the columns of an empty frame are dropped."""
    return pd.concat([frame for frame in frames if len(frame)] or [pd.DataFrame()])


def write_table(folder: Path | str, name: str, frame: pd.DataFrame) -> None:
    """Write a table as CSV with a header; an integer stays an integer, even in a column with missing values."""
    Path(folder).mkdir(parents=True, exist_ok=True)
    if frame.empty:
        frame = pd.DataFrame(columns=headers.required_columns(name))
    frame.convert_dtypes().to_csv(Path(folder) / f"{name}.csv", index=False)


def join_samples(folders: Sequence[Path | str], out: Path | str) -> None:
    """Write the one tidy table of the study, with the samples of all experiments, a row per sample."""
    frames = [
        frame
        for frame in (table_files.read(Path(folder) / "samples.csv", "samples") for folder in folders)
        if len(frame)
    ]
    if not frames:
        raise LadderError("The table would be empty: no record was found and nothing is published.")
    pd.concat(frames).convert_dtypes().to_csv(out, index=False)
