"""Publishing: a machine's tables, description and times by GPUs as files, committed to the repository.

A machine that is available for minutes only is measured in steps; `keep` adds the present step to what is published.
"""

import gzip
import json
import tempfile
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

import pandas as pd

from ladder.errors import LadderError
from ladder.machine import revision
from ladder.records import record
from ladder.records.files import write_atomically
from ladder.store import collect, gpu_counts, stored
from ladder.store.study import where

# What `make test-gpu` found on this machine, where it was run.
GPU_TESTS = "results/tests-gpu.json"
# What names a case in an experiment.
PLANNED = ["experiment", *collect.KEY]


def publish(plans, machine, folder, keep=False):
    """Write `folder` from a machine's records that the plans name; what was published there before is replaced.

    With `keep`, only the cases that have a record now are replaced, in every experiment in which they stand. The others
    stay as they were published, also where no plan names them, and so does what was missing. What the tests on a GPU
    found goes with them, where they were run. Raises LadderError when no record is there, and when what is to be kept
    can't be read or doesn't record its commits; the folder stays untouched then.
    """
    folder = Path(folder)
    plans = [plan | {"cases": [case for case in plan["cases"] if case["machine"] == machine]} for plan in plans]
    planned = {case["key"]: case for plan in plans for case in plan["cases"] if not case["left_out"]}
    measured = {key: case for key, case in planned.items() if Path(record.path_of(machine, key)).exists()}
    if not measured:
        raise LadderError("There is nothing to publish: no record was found on this machine. Run `snakemake` first.")
    earlier = {name: earlier_rows(folder, name, machine) if keep else pd.DataFrame() for name in collect.TABLES}
    replaced = {(machine, *key.split("/")) for key in measured}
    kept = {name: without(frame, collect.KEY, replaced) for name, frame in earlier.items()}
    if kept["samples"].reindex(columns=["commit"]).isna().any(axis=None):
        raise LadderError(
            f"{folder} was published before the commit of each case was recorded, so its cases can't be kept: "
            "publish it whole."
        )
    frames = joined(kept, collected(with_published(plans, earlier, measured)))
    records = [record.read(record.path_of(machine, key)) for key in measured]
    records.sort(key=lambda entry: entry["started"])
    commits = [commit for *_, commit in dict.fromkeys(keys_of(kept["samples"], [*collect.KEY, "commit"]))]
    contents = {f"{name}.csv.gz": pack(frame) for name, frame in frames.items()}
    calls = frames["samples"][frames["samples"]["phase"] == "total"]
    if times := gpu_counts.rows_of(calls):
        contents[gpu_counts.TIMES] = json.dumps(times, indent=1) + "\n"
    if Path(GPU_TESTS).exists():
        contents[Path(GPU_TESTS).name] = Path(GPU_TESTS).read_bytes()
    about = {
        "machine": machine,
        "published": datetime.now(UTC).isoformat(timespec="seconds"),
        "sources": sources([*commits, *(revision.format(entry["source"]) for entry in records)]),
        "cases": len(frames["samples"][collect.KEY].drop_duplicates()),
        "samples": int((frames["samples"]["phase"] == "total").sum()),
        "description": records[-1]["description"],
    }
    contents["machine.json"] = json.dumps(about, indent=1) + "\n"
    replace(folder, contents)
    if not times:
        (folder / gpu_counts.TIMES).unlink(missing_ok=True)


def replace(folder, contents):
    """Write a folder's files, {name: text or bytes}, all beside it before the first is put in its place."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".") as aside:
        for name, content in contents.items():
            write_atomically(Path(aside, name), content)
        for name in contents:
            Path(aside, name).replace(folder / name)


def earlier_rows(folder, name, machine):
    """A machine's rows of a published table; none where nothing is published yet."""
    exists = any(folder.glob("*.csv.gz"))
    return where(stored.published(folder, name), machine=machine) if exists else pd.DataFrame()


def keys_of(frame, columns):
    """The values of some columns, a tuple for each row."""
    return list(frame.reindex(columns=columns).itertuples(index=False, name=None))


def without(frame, columns, cases):
    """The rows that don't have these values in the columns; a column that is left with none goes."""
    return frame[[case not in cases for case in keys_of(frame, columns)]].dropna(axis="columns", how="all")


def with_published(plans, earlier, measured):
    """The plans, with each measured case also in the experiments in which it was published.

    `earlier` are the published tables, `measured` the planned cases that have a record, by key.
    """
    planned = {plan["experiment"]: {case["key"]: case for case in plan["cases"]} for plan in plans}
    for experiment, _, *key in keys_of(collect.concatenated([earlier["samples"], earlier["missing"]]), PLANNED):
        if (key := "/".join(key)) in measured:
            planned.setdefault(experiment, {})[key] = measured[key]
    return [{"experiment": experiment, "cases": [*cases.values()]} for experiment, cases in planned.items()]


def collected(plans):
    """The tables of all plans' records by name."""
    parts = []
    with tempfile.TemporaryDirectory() as temporary:
        for plan in plans:
            collect.collect(plan, temporary)
            parts.append(stored.load(temporary))
    return {name: collect.concatenated([tables[name] for tables in parts]) for name in collect.TABLES}


def joined(kept, new):
    """The kept and the new rows by table; missing is what has no samples, for the new reason where there is one."""
    frames = {name: collect.concatenated([kept[name], new[name]]) for name in collect.TABLES}
    missing = frames["missing"].drop_duplicates(PLANNED, keep="last")
    return frames | {"missing": without(missing, PLANNED, {*keys_of(frames["samples"], PLANNED)})}


def pack(frame):
    """A table as compressed CSV, without a time stamp, so that the same measurements are the same bytes."""
    return gzip.compress(frame.convert_dtypes().to_csv(index=False).encode(), mtime=0)


def sources(commits):
    """The commits that cases were measured with, a commit for each case: each with its number of cases, in order."""
    return [revision.parse(commit) | {"cases": cases} for commit, cases in Counter(commits).items()]
