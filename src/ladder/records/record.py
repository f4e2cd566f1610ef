"""The record of a case: what it was, what it measured, what it was checked against, and where it ran.

Written once by `harness/measure.py`, whole, by renaming a finished file into place; read back only if it fits the
schema, lies where it belongs, and passed its checks.
"""

import json
from pathlib import Path

from ladder.errors import LadderError
from ladder.records import agreement, documents
from ladder.records.documents import digest
from ladder.records.files import read_json, write_atomically

SCHEMA = 1
RECORDS = Path("results/records")
SCHEMA_FILE = Path(__file__).with_name("record.schema.json")


def path_of(machine, key, root="results"):
    """The path of a case's record: `key` is workload/variant/slug."""
    return f"{root}/records/{machine}/{in_path(key)}.json"


def in_path(text):
    """A slug, or a key, as part of a path: `+` for each comma.

    Snakemake cuts the command line of a cluster's job at commas (its issue 2366).
    """
    return text.replace(",", "+")


def from_path(text):
    """The slug from which `in_path` made part of a path; no slug has a `+` of its own."""
    return text.replace("+", ",")


def require_valid(record, where):
    """Raise LadderError when a record doesn't fit the schema."""
    for wrong in documents.mistakes(record, SCHEMA_FILE):
        refuse(where, wrong)


def refuse(where, wrong):
    raise LadderError(f"{where} is not a sound record: {wrong}. Delete it and measure again.")


def write(path, record):
    """Write a record so that a reader sees all of it or nothing."""
    require_valid(record, path)
    write_atomically(path, json.dumps(record | {"digest": digest(record)}, indent=1) + "\n")


def read(path):
    """The record in a file. Raises LadderError when it isn't there, isn't sound, or isn't that of its path."""
    record = read_json(path)
    require_valid(record, path)
    if record.get("digest") != digest(record):
        refuse(path, "it isn't what was written, by its digest")
    require_in_place(record, path)
    for wrong in documents.mistakes(record["description"], documents.SCHEMA_FILE, "description"):
        refuse(path, f"description: {wrong}")
    for number, process in enumerate(record["processes"]):
        for wrong in mistakes(process):
            refuse(path, f"processes/{number}: {wrong}")
    conditions = [process["system"] for process in record["processes"] if "system" in process]
    for different in agreement.differences(conditions):
        refuse(path, f"its processes ran under different conditions, {different}")
    return record


def require_in_place(record, path):
    """Refuse a record among the results that belongs to another machine or case than its path says."""
    own = path_of(record["machine"], "/".join(record[name] for name in ("workload", "variant", "case")))
    given = Path(path).absolute()
    if RECORDS.absolute() in given.parents and given != Path(own).absolute():
        refuse(path, f"it is that of {own}")


def mistakes(process):
    """What is wrong with a process's results, beyond what the schema says: a text for each mistake."""
    for check in process["checks"]:
        if not check["error"] <= check["bound"]:
            yield "the error of {name!r} is {error:.3g} where at most {bound:.3g} is allowed".format_map(check)
    phases = [set(each) for each in process["phases"]]
    if [set(each) for each in process.get("by_rank", process["phases"])] != phases:
        yield "its seconds by rank have other phases"
