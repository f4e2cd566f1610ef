"""The columns of the tables, and the entries of a record, from their descriptions and from the record's schema."""

import json
from pathlib import Path

from ladder.catalogue import workloads
from ladder.records import record
from ladder.store import columns
from reference_pages import markdown

HEAD = ("column", "meaning", "type", "unit")
SCHEMA = Path(record.__file__).with_name("record.schema.json")


def page():
    """The columns of all tables, of each table, and of each workload; then the entries of a record."""
    names = {"Of all tables": columns.CASE}
    names |= {f"Of `{table}.csv`": described for table, described in columns.TABLES.items()}
    names["Sizes, tunings and results of several workloads"] = columns.as_columns(columns.SHARED_MEANINGS)
    names |= {f"Of `{name}`": described for name in workloads.names() if (described := columns.of_workload(name))}
    parts = [part for title, described in names.items() for part in (f"### {title}", table(described))]
    return markdown.document("## Columns", *parts, "## A record", entries())


def table(described):
    """The columns of one kind."""
    rows = [(markdown.code(name), column.meaning, column.kind, column.unit) for name, column in described.items()]
    return markdown.table(HEAD, rows)


def entries():
    """The entries of a record, and of each of its processes."""
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    process = schema["properties"]["processes"]["items"]
    rows = [*entry_rows(schema), *entry_rows(process, "processes[].")]
    return markdown.table(("entry", "meaning", "type", "need"), rows)


def entry_rows(schema, prefix=""):
    """A row for each property of an object in the schema."""
    required = schema.get("required", ())
    for name, rule in schema["properties"].items():
        need = "required" if name in required else "optional"
        yield markdown.code(prefix + name), rule.get("title"), kind(rule), need


def kind(rule):
    """The type of a property, or its only values."""
    if "const" in rule or "enum" in rule:
        return markdown.codes(rule.get("enum", [rule.get("const")]))
    types = rule.get("type", "object")
    return types if isinstance(types, str) else " or ".join(types)
