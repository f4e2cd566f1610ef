"""The record of a case: its description, its times, its checks, and the machine that it ran on.

`harness/measure.py` writes it once, atomically. A reader refuses a record that doesn't fit the schema, doesn't lie at
the path of its case, or holds a failed check.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NoReturn

from ladder.errors import LadderError
from ladder.records import agreement, documents
from ladder.records.documents import digest
from ladder.records.files import read_json, write_atomically

SCHEMA_VERSION = 1
RECORDS = Path("results/records")
SCHEMA_FILE = Path(__file__).with_name("record.schema.json")


def path_of(machine: str, key: str, root: Path | str = "results") -> str:
    """The path of a case's record: `key` is workload/variant/slug."""
    return f"{root}/records/{machine}/{escape_commas(key)}.json"


def escape_commas(text: str) -> str:
    """A slug, or a key, as part of a path, with `+` in place of commas.

    Snakemake splits the wildcards on a cluster job's command line at commas (its issue 2366).
    """
    return text.replace(",", "+")


def restore_commas(text: str) -> str:
    """The inverse of `escape_commas`; no slug contains a `+`."""
    return text.replace("+", ",")


def require_valid(record: Mapping[str, Any], path: Path | str) -> None:
    """Raise LadderError if a record doesn't fit the schema."""
    for violation in documents.violations(record, SCHEMA_FILE):
        refuse(path, violation)


def refuse(path: Path | str, reason: str) -> NoReturn:
    raise LadderError(f"{path} is not a sound record: {reason}. Delete it and measure again.")


def write(path: Path | str, record: Mapping[str, Any]) -> None:
    """Write a record atomically."""
    require_valid(record, path)
    write_atomically(path, json.dumps(dict(record) | {"digest": digest(record)}, indent=1) + "\n")


def read(path: Path | str) -> dict[str, Any]:
    """The record in a file. Raises LadderError if it is missing, corrupt or that of another path."""
    record = read_json(path)
    require_valid(record, path)
    if record.get("digest") != digest(record):
        refuse(path, "it doesn't match its digest")
    require_matching_path(record, path)
    for violation in documents.violations(record["description"], documents.SCHEMA_FILE, "description"):
        refuse(path, f"description: {violation}")
    for number, process in enumerate(record["processes"]):
        for violation in violations(process):
            refuse(path, f"processes/{number}: {violation}")
    conditions = [process["system"] for process in record["processes"] if "system" in process]
    for difference in agreement.differences(conditions):
        refuse(path, f"its processes ran under different conditions, {difference}")
    return record


def require_matching_path(record: Mapping[str, Any], path: Path | str) -> None:
    """Refuse a record in the results whose machine or case doesn't match its path."""
    expected = path_of(record["machine"], "/".join(record[name] for name in ("workload", "variant", "case")))
    actual = Path(path).absolute()
    if RECORDS.absolute() in actual.parents and actual != Path(expected).absolute():
        refuse(path, f"it belongs at {expected}")


def violations(process: Mapping[str, Any]) -> Iterator[str]:
    """A text for each contradiction in a process's results that the schema can't express."""
    for check in process["checks"]:
        if not check["error"] <= check["bound"]:
            yield "the error of {name!r} is {error:.3g} where at most {bound:.3g} is allowed".format_map(check)
    names = [set(phases) for phases in process["phases"]]
    if [set(phases) for phases in process.get("by_rank", process["phases"])] != names:
        yield "the phases of its ranks are not those of the process"
