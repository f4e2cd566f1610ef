"""JSON documents that the project writes for itself, each validated against its schema when it is read.

A schema requires what the readers use, no more; that of each kind is in `documents.schema.json` under its name.
Records have a schema file of their own, `record.schema.json`.
"""

import functools
import hashlib
import json
import sys
import textwrap
from pathlib import Path

from ladder.errors import LadderError

MEND = "Restore it, or delete it and make it again."
SCHEMA_FILE = Path(__file__).with_name("documents.schema.json")


def read(path, kind):
    """The document of a kind in a file, without its digest.

    Raises LadderError if it can't be read, doesn't match its digest, or doesn't fit the schema.
    """
    try:
        document = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise LadderError(f"{path} can't be read: {error.strerror}.") from None
    except (ValueError, RecursionError) as error:  # torn JSON, or bytes that are no text
        raise LadderError(f"{path} is not JSON ({error}). {MEND}") from None
    expected = document.pop("digest", None) if isinstance(document, dict) else None  # hand-written documents have none
    for mistake in mistakes(document, SCHEMA_FILE, kind):
        raise LadderError(f"{path} can't be used as the {kind}: {mistake}. {MEND}")
    if expected is not None and expected != digest(document):
        raise LadderError(f"{path} isn't the {kind} that was written, by its digest. {MEND}")
    return document


def digest(document):
    """A digest of a document without its key "digest": a byte that changes on a disk may still fit the schema."""
    rest = {name: value for name, value in document.items() if name != "digest"}
    return hashlib.sha256(json.dumps(rest, sort_keys=True).encode()).hexdigest()[:16]


def mistakes(document, schema, kind=None):
    """The violations of a schema, or of one of its definitions, by a document: a text for each."""
    for error in validator(schema, kind).iter_errors(document):
        key = "/".join(map(str, error.absolute_path)) or "as a whole"
        yield f"{key}: {textwrap.shorten(error.message, 200, placeholder=' ...')}"


@functools.cache
def validator(path, kind):
    """A validator for the schema in a file, or for one of its definitions; NaN and the infinities are no numbers."""
    from jsonschema import Draft202012Validator, validators

    types = Draft202012Validator.TYPE_CHECKER.redefine("number", is_number)
    schema = json.loads(path.read_text(encoding="utf-8"))
    if kind:
        schema = {"$ref": f"#/$defs/{kind}", "$defs": schema["$defs"]}
    return validators.extend(Draft202012Validator, type_checker=types)(schema)


def is_number(_, value):
    """Whether a value is a finite number, for jsonschema: NaN would pass every limit."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= sys.float_info.max
