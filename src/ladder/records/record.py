"""The record of a case: what it was, what it measured, what it was checked against, and where it ran.

Written once, whole, by renaming a finished file into place; read back only if it fits the schema.
"""

import contextlib
import functools
import json
import os
from pathlib import Path

from ladder.errors import LadderError

SCHEMA = 1
SCHEMA_FILE = Path(__file__).with_name("record.schema.json")


def path_of(machine, key, root="results"):
    """Where a case's record lies: `key` is workload/variant/slug."""
    return f"{root}/records/{machine}/{in_path(key)}.json"


def in_path(text):
    """A slug, or a key, as part of a path: `+` for each comma.

    Snakemake cuts what it tells a job of a cluster at commas (its issue 2366).
    """
    return text.replace(",", "+")


def from_path(text):
    """The slug of which `in_path` made part of a path; no slug has a `+` of its own."""
    return text.replace("+", ",")


@functools.cache
def validator():
    """The compiled JSON schema of a record."""
    from jsonschema import Draft202012Validator

    return Draft202012Validator(json.loads(SCHEMA_FILE.read_text()))


def require_valid(record, where):
    """Raise LadderError when a record doesn't fit the schema."""
    for error in validator().iter_errors(record):
        place = "/".join(map(str, error.absolute_path)) or "the record itself"
        raise LadderError(f"{where} is not a sound record: {place}: {error.message}. Delete it and measure again.")


def write(path, record):
    """Write a record so that a reader sees all of it or nothing."""
    require_valid(record, path)
    write_atomically(path, json.dumps(record, indent=1) + "\n")


def write_atomically(path, text):
    """Replace a file by a text at once; a full disk leaves the old file and a sentence."""
    path = Path(path)
    part = path.with_name(f".{path.name}.part")  # what a killed writer leaves, the next one replaces
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with part.open("w") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):
            part.unlink()
        raise LadderError(
            f"{path} can't be written: {error.strerror}. Make room or allow writing, then run again."
        ) from None


def read(path):
    """The record in a file. Raises LadderError when it isn't there, isn't JSON or doesn't fit the schema."""
    record = read_json(path)
    require_valid(record, path)
    return record


def read_json(path, *keys):
    """What is in a JSON file that the project has written, an object with the `keys`. Raises LadderError."""
    try:
        found = json.loads(Path(path).read_text())
    except OSError as error:
        raise LadderError(f"{path} can't be read: {error.strerror}.") from None
    except ValueError as error:  # torn JSON, or bytes that are no text
        raise LadderError(f"{path} is not JSON ({error}). Delete it and make it again.") from None
    if not isinstance(found, dict) or not set(keys) <= set(found):
        raise LadderError(f"{path} isn't what is needed here: a JSON object with {', '.join(keys) or 'keys'}.")
    return found
