"""Publish a machine: write its tables, its description and its times by number of GPUs as files to be committed.

A machine that is available for only minutes at a time is measured in steps; `keep_published` adds this step to those
that are published.
"""

import json
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pandas as pd

from ladder.errors import LadderError, pluralize
from ladder.machine import revision
from ladder.records import published_hardware, record
from ladder.records.files import write_atomically
from ladder.store import collect, gpu_counts, headers, table_files
from ladder.store.study import where

# The result of `make test-gpu` on this machine, if it was run.
GPU_TESTS = "results/tests-gpu.json"
# The columns that identify a case of an experiment.
EXPERIMENT_KEY = ["experiment", *collect.CASE_COLUMNS]


def publish(plans: Sequence[Mapping[str, Any]], machine: str, folder: Path | str, keep_published: bool = False) -> None:
    """Write `folder` from a machine's records of planned cases, in place of what was published there before.

    With `keep_published`, only cases that have a record now are replaced, in every experiment that has them; a planned
    case still without one gets a new reason in `missing`. All other published rows stay, including those of cases that
    are no longer planned. The result of the tests on a GPU is published too. Raises LadderError without any record, for
    cases that were timed beside other jobs, if rows to be kept can't be read or lack their commits, and if other
    hardware is published under the machine's label; then the folder stays untouched.
    """
    folder = Path(folder)
    plans = [dict(plan) | {"cases": [case for case in plan["cases"] if case["machine"] == machine]} for plan in plans]
    planned = {case["key"]: case for plan in plans for case in plan["cases"] if not case["left_out"]}
    measured = {key: case for key, case in planned.items() if Path(record.path_of(machine, key)).exists()}
    if not measured:
        raise LadderError("There is nothing to publish: no record was found on this machine. Run `snakemake` first.")
    published_tables = {
        name: published_rows(folder, name, machine) if keep_published else pd.DataFrame() for name in collect.TABLES
    }
    replaced = {(machine, *key.split("/")) for key in measured}
    kept_tables = {name: drop_cases(frame, collect.CASE_COLUMNS, replaced) for name, frame in published_tables.items()}
    if kept_tables["samples"].reindex(columns=["commit"]).isna().any(axis=None):
        raise LadderError(
            f"{folder} was published before the commit of each case was recorded, so its cases can't be kept: "
            "publish it whole."
        )
    records = [record.read(record.path_of(machine, key)) for key in measured]
    if disturbed_records := [entry for entry in records if entry["protocol"].get("share_machine")]:
        raise LadderError(
            f"{pluralize(len(disturbed_records), 'case')} can't be published, because other jobs ran meanwhile: "
            "measure again with `share_machine: false` in the protocol."
        )
    frames = merge(kept_tables, collect_tables(add_published(plans, published_tables, measured)))
    records.sort(key=lambda entry: entry["started"])
    published_hardware.require_same_hardware(
        machine, records[-1]["description"], replaced_folder=None if keep_published else folder
    )
    commits = [
        commit for *_, commit in dict.fromkeys(keys_of(kept_tables["samples"], [*collect.CASE_COLUMNS, "commit"]))
    ]
    contents: dict[str, bytes | str] = {f"{name}.csv.gz": pack(frame, name) for name, frame in frames.items()}
    calls = frames["samples"][frames["samples"]["phase"] == "total"]
    if times := gpu_counts.rows_of(calls):
        contents[gpu_counts.TIMES_FILE] = json.dumps(times, indent=1) + "\n"
    if Path(GPU_TESTS).exists():
        contents[Path(GPU_TESTS).name] = Path(GPU_TESTS).read_bytes()
    publication = {
        "machine": machine,
        "published": datetime.now(UTC).isoformat(timespec="seconds"),
        "sources": sources([*commits, *(revision.format(entry["source"]) for entry in records)]),
        "cases": len(frames["samples"][collect.CASE_COLUMNS].drop_duplicates()),
        "samples": int((frames["samples"]["phase"] == "total").sum()),
        "description": records[-1]["description"],
    }
    contents["machine.json"] = json.dumps(publication, indent=1) + "\n"
    replace_files(folder, contents)
    if not times:
        (folder / gpu_counts.TIMES_FILE).unlink(missing_ok=True)


def replace_files(folder: Path, contents: Mapping[str, bytes | str]) -> None:
    """Replace files of a folder, {name: text or bytes}, only after all of them are written beside it."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".") as temporary:
        for name, content in contents.items():
            write_atomically(Path(temporary, name), content)
        for name in contents:
            Path(temporary, name).replace(folder / name)


def published_rows(folder: Path, name: str, machine: str) -> pd.DataFrame:
    """A machine's rows of a published table; none if nothing is published yet."""
    exists = any(folder.glob("*.csv.gz"))
    return where(table_files.read_published(folder, name), machine=machine) if exists else pd.DataFrame()


def keys_of(frame: pd.DataFrame, columns: Sequence[str]) -> list[tuple[str, ...]]:
    """The values of some columns, a tuple for each row."""
    return list(frame.reindex(columns=columns).itertuples(index=False, name=None))


def drop_cases(frame: pd.DataFrame, columns: Sequence[str], cases: set[tuple[str, ...]]) -> pd.DataFrame:
    """The rows whose values in the columns aren't among `cases`, tuples; columns that become empty are dropped."""
    return frame[[case not in cases for case in keys_of(frame, columns)]].dropna(axis="columns", how="all")


def add_published(
    plans: Sequence[Mapping[str, Any]], tables: Mapping[str, pd.DataFrame], measured: Mapping[str, dict[str, Any]]
) -> list[dict[str, Any]]:
    """The plans, with each measured case also in the experiments in which it was published.

    `tables` are the published ones, `measured` the planned cases that have a record, by key.
    """
    planned = {plan["experiment"]: {case["key"]: case for case in plan["cases"]} for plan in plans}
    for experiment, _, *names in keys_of(collect.concatenate([tables["samples"], tables["missing"]]), EXPERIMENT_KEY):
        if (key := "/".join(names)) in measured:
            planned.setdefault(experiment, {})[key] = measured[key]
    return [{"experiment": experiment, "cases": [*cases.values()]} for experiment, cases in planned.items()]


def collect_tables(plans: Sequence[Mapping[str, Any]]) -> dict[str, pd.DataFrame]:
    """The tables of all plans' records, {name: frame}."""
    parts = []
    with tempfile.TemporaryDirectory() as temporary:
        for plan in plans:
            collect.collect(plan, temporary)
            parts.append(table_files.load(temporary))
    return {name: collect.concatenate([tables[name] for tables in parts]) for name in collect.TABLES}


def merge(kept: Mapping[str, pd.DataFrame], new: Mapping[str, pd.DataFrame]) -> dict[str, pd.DataFrame]:
    """The kept and the new rows, {table: frame}; `missing` has each case without samples once, with its last reason."""
    frames = {name: collect.concatenate([kept[name], new[name]]) for name in collect.TABLES}
    missing = frames["missing"].drop_duplicates(EXPERIMENT_KEY, keep="last")
    return frames | {"missing": drop_cases(missing, EXPERIMENT_KEY, {*keys_of(frames["samples"], EXPERIMENT_KEY)})}


def pack(frame: pd.DataFrame, table: str) -> bytes:
    """A table as compressed CSV with all columns of the harness: the same measurements give the same bytes."""
    return headers.compress(headers.complete_header(frame.convert_dtypes().to_csv(index=False), table))


def sources(commits: Sequence[str]) -> list[dict[str, Any]]:
    """The distinct commits, in order, each with its number of cases; `commits` has one for each case."""
    return [revision.parse(commit) | {"cases": cases} for commit, cases in Counter(commits).items()]
