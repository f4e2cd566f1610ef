"""JSON documents that the project writes for itself, each validated against its schema when it is read.

`documents.schema.json` holds the schema of each kind under its name; it requires only what the project reads.
Records have their own schema file, `record.schema.json`.
"""

import functools
import hashlib
import json
import sys
import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ladder.errors import LadderError

REMEDY = "Restore it, or delete it and make it again."
SCHEMA_FILE = Path(__file__).with_name("documents.schema.json")


def read(path: Path | str, kind: str) -> Any:
    """The document in a file, without its digest; `kind` names its schema.

    Raises LadderError if it can't be read, doesn't match its digest, or doesn't fit the schema.
    """
    try:
        document = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise LadderError(f"{path} can't be read: {error.strerror}.") from None
    except (ValueError, RecursionError) as error:  # truncated JSON, or bytes that aren't UTF-8
        raise LadderError(f"{path} is not JSON ({error}). {REMEDY}") from None
    expected = document.pop("digest", None) if isinstance(document, dict) else None  # hand-written documents have none
    for violation in violations(document, SCHEMA_FILE, kind):
        raise LadderError(f"{path} can't be used as the {kind}: {violation}. {REMEDY}")
    if expected is not None and expected != digest(document):
        raise LadderError(f"{path} doesn't match its digest: the file has changed since it was written. {REMEDY}")
    return document


def digest(document: Mapping[str, Any]) -> str:
    """A digest of a document without its key "digest", which detects changes that still fit the schema."""
    rest = {name: value for name, value in document.items() if name != "digest"}
    return hashlib.sha256(json.dumps(rest, sort_keys=True).encode()).hexdigest()[:16]


def violations(document: Mapping[str, Any], schema: Path, kind: str | None = None) -> Iterator[str]:
    """A text for each place at which a document violates a schema or, with `kind`, one of the schema's definitions."""
    for error in validator(schema, kind).iter_errors(document):
        key = "/".join(map(str, error.absolute_path)) or "as a whole"
        yield f"{key}: {textwrap.shorten(error.message, 200, placeholder=' ...')}"


@functools.cache
def validator(path: Path, kind: str | None) -> Any:
    """A validator for the schema in a file, or for one of its definitions; it rejects NaN and infinities as numbers."""
    from jsonschema import Draft202012Validator, validators

    types = Draft202012Validator.TYPE_CHECKER.redefine("number", is_number)
    schema = json.loads(path.read_text(encoding="utf-8"))
    if kind:
        schema = {"$ref": f"#/$defs/{kind}", "$defs": schema["$defs"]}
    return validators.extend(Draft202012Validator, type_checker=types)(schema)


def is_number(_: Any, value: int) -> bool:
    """Whether a value is a finite number. The arguments are jsonschema's, for which NaN would pass every limit."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= sys.float_info.max
