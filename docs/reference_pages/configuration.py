"""The keys of a configuration, from its schema."""

import json

from ladder.planning.configuration import SCHEMA_FILE
from reference_pages import markdown

HEAD = ("key", "meaning", "values", "default")


def page():
    """A table of all keys, one of the protocol's and one of an experiment's."""
    schema = json.loads(SCHEMA_FILE.read_text(encoding="utf-8"))
    keys = schema["properties"]
    experiment = keys["experiments"]["additionalProperties"]
    return markdown.document(
        "## Keys",
        table(schema),
        "## Keys of `protocol`",
        table(keys["protocol"]),
        "## Keys of an experiment",
        table(experiment),
    )


def table(rule):
    """The keys of an object's rule in the schema."""
    required = rule.get("required", ())
    rows = [
        (markdown.code(key), entry.get("description"), values(entry), default(key, entry, required))
        for key, entry in rule["properties"].items()
    ]
    return markdown.table(HEAD, rows)


def default(key, entry, required):
    """The default of a key, or that it has none."""
    return markdown.code(json.dumps(entry["default"])) if "default" in entry else "required" * (key in required)


def values(entry):
    """The values that a key may have: words, or types with their limits."""
    if "enum" in entry:
        return markdown.codes(entry["enum"])
    types = entry.get("type", "object")
    words = " or ".join([types] if isinstance(types, str) else types)
    limits = {"minimum": "at least", "exclusiveMinimum": "above", "maximum": "at most", "exclusiveMaximum": "below"}
    return ", ".join([words, *(f"{word} {entry[name]}" for name, word in limits.items() if name in entry)])
