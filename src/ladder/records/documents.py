"""JSON documents that the project writes for itself, each read back only if it fits its schema.

What they must have is what their readers use, no more: that of a kind stands under its name in `documents.schema.json`.
Records have a file of their own, `record.schema.json`.
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

    Raises LadderError when it can't be read, isn't what was written, or doesn't fit the schema.
    """
    try:
        found = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise LadderError(f"{path} can't be read: {error.strerror}.") from None
    except (ValueError, RecursionError) as error:  # torn JSON, or bytes that are no text
        raise LadderError(f"{path} is not JSON ({error}). {MEND}") from None
    noted = found.pop("digest", None) if isinstance(found, dict) else None  # documents of others have none
    for wrong in mistakes(found, SCHEMA_FILE, kind):
        raise LadderError(f"{path} can't be used as the {kind}: {wrong}. {MEND}")
    if noted is not None and noted != digest(found):
        raise LadderError(f"{path} isn't the {kind} that was written, by its digest. {MEND}")
    return found


def digest(document):
    """A digest of all else in a document: of a byte that changes on a disk, the schema may see but another number."""
    rest = {name: value for name, value in document.items() if name != "digest"}
    return hashlib.sha256(json.dumps(rest, sort_keys=True).encode()).hexdigest()[:16]


def mistakes(found, schema, kind=None):
    """What is wrong with a document by a schema, or by a definition of it: a text for each mistake."""
    for error in validator(schema, kind).iter_errors(found):
        key = "/".join(map(str, error.absolute_path)) or "as a whole"
        yield f"{key}: {textwrap.shorten(error.message, 200, placeholder=' ...')}"


@functools.cache
def validator(path, kind):
    """The compiled schema in a file, or the definition of that name; NaN and the infinities are no numbers."""
    from jsonschema import Draft202012Validator, validators

    types = Draft202012Validator.TYPE_CHECKER.redefine("number", is_number)
    schema = json.loads(path.read_text(encoding="utf-8"))
    if kind:
        schema = {"$ref": f"#/$defs/{kind}", "$defs": schema["$defs"]}
    return validators.extend(Draft202012Validator, type_checker=types)(schema)


def is_number(_, value):
    """Whether a value is a finite number, for jsonschema: NaN is neither below a limit nor above it."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= sys.float_info.max
