"""Publishing a campaign: the tables of its records and what it was measured with, in a folder of its own.

A published campaign never changes, and no other is mixed with it. Its tables are those of `collect`, and its
`machine.json` keeps the note of its beginning.
"""

import json
import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any

import pandas as pd

from ladder.errors import LadderError
from ladder.harness.plausibility import require_plausible
from ladder.machine import revision
from ladder.planning import configuration
from ladder.records import campaigns, documents, published_hardware, record
from ladder.records.case import Case
from ladder.store import TABLES, ceilings, collect
from ladder.store.publish import pack, replace_files

# What a process reports of its GPU under load.
GPU_STATE_FIELDS = ("clock", "memory_clock", "temperature", "power")


def publish(name: str, experiments: Mapping[str, list[str]], margin: float) -> None:
    """Write the published folder of a campaign from its records of planned cases.

    `experiments` is {key of a case: the names of its experiments}, and `margin` that of the ceilings, with which all
    samples are compared. Raises LadderError, and writes nothing, if there is no record, if one isn't of this
    campaign, its commit or its host, or if other hardware is published under the machine's label.
    """
    note = documents.read(campaigns.folder(name) / campaigns.NOTE_NAME, "campaign")
    paths = sorted(campaigns.folder(name).glob("records/*/*/*/*.json"))
    records = {path: record.read(path) for path in paths}
    records = {path: content for path, content in records.items() if key_of(content) in experiments}
    if not records:
        raise LadderError(f"The campaign {name} has no records: measure it with `snakemake claims`.")
    for path, content in records.items():
        require_same_campaign(path, content, note)
    first_record = next(iter(records.values()))
    published_hardware.require_same_hardware(note["machine"], first_record["description"])
    require_below_ceilings(records, experiments, margin)
    tables: dict[str, list[pd.DataFrame]] = {table: [] for table in TABLES}
    for content in records.values():
        key = key_of(content)
        for experiment in experiments[key]:
            columns = collect.case_columns(content["machine"], experiment, *key.split("/"))
            for table, rows in collect.rows_of(content, columns).items():
                tables[table] += rows
    frames = {table: pd.DataFrame(rows) for table, rows in tables.items()}
    commits = Counter(revision.format(content["source"]) for content in records.values())
    publication = {
        "machine": note["machine"],
        "published": datetime.now(UTC).isoformat(timespec="seconds"),
        "sources": [revision.parse(commit) | {"cases": cases} for commit, cases in commits.items()],
        "cases": len(records),
        "samples": int((frames["samples"]["phase"] == "total").sum()),
        "description": first_record["description"],
        "conditions": gpu_conditions(records.values()),
        "campaign": note,
    }
    contents: dict[str, bytes | str] = {f"{table}.csv.gz": pack(frame, table) for table, frame in frames.items()}
    contents["machine.json"] = json.dumps(publication, indent=1) + "\n"
    replace_files(campaigns.PUBLISHED / name, contents)


def gpu_conditions(records: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """The state of the GPUs under load over all processes, {name: [lowest, median, highest]}; {} without a GPU.

    Clocks are in MHz, the temperature is in degrees Celsius and the power in watts.
    """
    states = [process["state"] for content in records for process in content["processes"] if "state" in process]
    values = {name: [state[name] for state in states if name in state] for name in GPU_STATE_FIELDS}
    return {name: [min(reported), median(reported), max(reported)] for name, reported in values.items() if reported}


def key_of(content: Mapping[str, Any]) -> str:
    """The key of a record's case."""
    return "/".join(content[name] for name in ("workload", "variant", "case"))


def require_same_campaign(path: Path, content: Mapping[str, Any], note: Mapping[str, Any]) -> None:
    """Refuse a record of another campaign, commit or, outside of a cluster, host."""
    recorded = {"campaign": content.get("campaign"), "commit": content["source"]["commit"]}
    expected = {"campaign": note["name"], "commit": note["commit"]}
    if not content["slurm"]:
        recorded["host"], expected["host"] = content.get("host"), note["host"]
    for field, value in expected.items():
        if recorded[field] != value:
            raise LadderError(
                f"{path} is of the {field} {recorded[field]}, and the campaign {note['name']} of {value}: delete it "
                "and continue with `snakemake claims`."
            )


def require_below_ceilings(
    records: Mapping[Path, dict[str, Any]], experiments: Mapping[str, list[str]], margin: float
) -> None:
    """Refuse samples that are faster than the campaign's own ceilings allow; without ceilings, say so."""
    keys = {path: key_of(content) for path, content in records.items()}
    ceiling_paths = [path for path, key in keys.items() if any(map(configuration.is_ceiling, experiments[key]))]
    if not ceiling_paths:
        print("The campaign measured no ceiling: no rate of its samples is compared with one.", file=sys.stderr)
        return
    limits = ceilings.summarise(ceiling_paths, margin)
    for path in records.keys() - set(ceiling_paths):
        content = records[path]
        case = Case.parse(content["workload"], content["variant"], content["case"])
        try:
            require_plausible(case, content["processes"], Cost(content["cost"]), limits)
        except LadderError as error:
            raise LadderError(f"{path}: {error}") from None


class Cost:
    """The cost of a record, by attributes."""

    def __init__(self, entries: Mapping[str, Any]) -> None:
        vars(self).update(entries)
