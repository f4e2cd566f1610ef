"""The record of a case: what it was, what it measured, what it was checked against, and where it ran.

Written once by `harness/measure.py`, whole, by renaming a finished file into place; read back only if it fits the
schema.
"""

import functools
import json
from pathlib import Path

from ladder.errors import LadderError
from ladder.records.files import read_json, write_atomically

SCHEMA = 1
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


@functools.cache
def validator():
    """The compiled JSON schema of a record."""
    from jsonschema import Draft202012Validator

    return Draft202012Validator(json.loads(SCHEMA_FILE.read_text()))


def require_valid(record, where):
    """Raise LadderError when a record doesn't fit the schema."""
    for error in validator().iter_errors(record):
        key = "/".join(map(str, error.absolute_path)) or "the record itself"
        raise LadderError(f"{where} is not a sound record: {key}: {error.message}. Delete it and measure again.")


def write(path, record):
    """Write a record so that a reader sees all of it or nothing."""
    require_valid(record, path)
    write_atomically(path, json.dumps(record, indent=1) + "\n")


def read(path):
    """The record in a file. Raises LadderError when it isn't there, isn't JSON or doesn't fit the schema."""
    record = read_json(path)
    require_valid(record, path)
    return record
