"""`datapackage.json` of published measurements, a Frictionless Data Package (https://datapackage.org).

Every table with a header is a resource. Its schema has a field for each column of the table, with type, unit and
meaning by `columns`.
"""

import gzip
import hashlib
import io
import json
import re
import zlib
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from ladder.errors import LadderError
from ladder.records import documents
from ladder.store import columns

PUBLISHED_FOLDER = Path("results/published")
FILE_NAME = "datapackage.json"
# What a row of each table is.
ROWS = {
    "samples": "a timed call, or one phase of a pass",
    "checks": "a comparison with the reference",
    "curves": "a point of a curve, such as the error of an epoch",
    "traces": "an event of a traced run",
    "missing": "a planned case without a measurement",
    "counters": "a kernel of a case, with what NVIDIA's ncu counted of its launches",
}
PATTERNS = {
    columns.INTEGER: re.compile(r"-?[0-9]+"),
    columns.NUMBER: re.compile(r"-?([0-9]+(\.[0-9]*)?|\.[0-9]+)(e[+-]?[0-9]+)?|nan|-?inf", re.IGNORECASE),
    columns.BOOLEAN: re.compile("True|False"),
}
INNERMOST = re.compile(r"[\[{]\n[^\[\]{}]*[\]}]")  # an object or array without another one in it


def folders(root: Path = PUBLISHED_FOLDER) -> list[Path]:
    """The folders of published machines, then those of campaigns in the order in which they began."""
    machines = sorted(path.parent for path in Path(root).glob("*/machine.json"))
    campaigns = [path.parent for path in Path(root).glob("campaigns/*/machine.json")]
    return [*machines, *sorted(campaigns, key=lambda folder: (publication(folder)["campaign"]["began"], folder.name))]


def publication(folder: Path) -> dict[str, Any]:
    """What `machine.json` says of a published folder."""
    return documents.read(Path(folder) / "machine.json", "publication")


def date_in_words(note: Mapping[str, Any]) -> str | None:
    """When the samples of a published folder were measured, by its `machine.json`, in words; None if it isn't said."""
    if "campaign" in note:
        return f"{note['campaign']['began'][:10]}, when its campaign began"
    return f"no later than {note['published'][:10]}, when the table was published" if note.get("published") else None


def processors(description: Mapping[str, Any]) -> tuple[str, str | None]:
    """The processors of a machine's description as words: its cores with the CPU's name, and its GPUs or None."""
    names = [gpu["name"] for gpu in description["gpus"]]
    gpus = ", ".join(f"{names.count(name)} × {name}" for name in dict.fromkeys(names))
    return f"{description['cores']} × {description['cpu'].get('Model name', 'CPU')}", gpus or None


def package(root: Path = PUBLISHED_FOLDER) -> dict[str, Any]:
    """The data package of the published folders below `root` as a JSON object."""
    tables_by_folder = {folder: tables(folder) for folder in folders(root)}
    return {
        "profile": "tabular-data-package",
        "name": "ladder-published-measurements",
        "title": "Published measurements of ladder",
        "description": "Times of numerical kernels of neural networks, with their checks; README.md explains the files",
        "licenses": [{"name": "MIT", "title": "MIT License"}],
        "folders": [folder_entry(folder, folder_tables, root) for folder, folder_tables in tables_by_folder.items()],
        "resources": [
            resource(folder, table, frame, root)
            for folder, folder_tables in tables_by_folder.items()
            for table, frame in folder_tables.items()
        ],
    }


def tables(folder: Path) -> dict[str, pd.DataFrame]:
    """A folder's tables that have a header, {table: frame of texts}; an empty cell is an empty text."""
    paths = {table: Path(folder) / f"{table}.csv.gz" for table in ROWS}
    frames = {table: read(path) for table, path in paths.items() if path.exists()}
    return {table: frame for table, frame in frames.items() if frame is not None}


def read(path: Path) -> pd.DataFrame | None:
    """A table as texts; None without a header. Raises LadderError."""
    try:
        return pd.read_csv(
            io.BytesIO(gzip.decompress(path.read_bytes())), dtype=str, keep_default_na=False, low_memory=False
        )
    except pd.errors.EmptyDataError:
        return None
    except (OSError, EOFError, ValueError, zlib.error) as error:
        raise LadderError(f"The table {path} can't be read: {error}. Restore it.") from None


def folder_entry(folder: Path, folder_tables: Mapping[str, pd.DataFrame], root: Path) -> dict[str, Any]:
    """What a folder holds: its machine, campaign, commits, processors, and the number of its cases by system."""
    content = publication(folder)
    campaign, (cores, gpus) = content.get("campaign", {}), processors(content["description"])
    systems = Counter(folder_tables["samples"][[*columns.CASE_KEY[1:]]].drop_duplicates()["workload"])
    return {
        "path": folder.relative_to(root).as_posix(),
        "machine": content["machine"],
        "campaign": campaign.get("name"),
        "published": content.get("published"),
        "began": campaign.get("began"),
        "cores": cores,
        "gpus": gpus,
        "commits": [source["commit"] for source in content.get("sources", [])],
        "systems": dict(sorted(systems.items())),
        "samples": int((folder_tables["samples"]["phase"] == "total").sum()),
    }


def resource(folder: Path, table: str, frame: pd.DataFrame, root: Path) -> dict[str, Any]:
    """The resource of a table, with its schema."""
    path = (folder / f"{table}.csv.gz").relative_to(root)
    data = (root / path).read_bytes()
    key = columns.KEYS.get(table)
    schema = {"fields": [field(table, frame, name) for name in frame], "missingValues": [""]}
    return {
        "name": ".".join([*path.parent.parts, table]).lower(),
        "path": path.as_posix(),
        "profile": "tabular-data-resource",
        "title": f"{folder.name}: {table}; a row is {ROWS[table]}",
        "format": "csv",
        "compression": "gz",
        "encoding": "utf-8",
        "bytes": len(data),
        "hash": f"sha256:{hashlib.sha256(data).hexdigest()}",
        "rows": len(frame),
        "schema": schema | ({"primaryKey": list(key)} if key else {}),
    }


def field(table: str, frame: pd.DataFrame, name: str) -> dict[str, str]:
    """The field of a column."""
    filled_rows = frame[frame[name] != ""]
    described = {workload: columns.describe(table, name, workload) for workload in filled_rows["workload"].unique()}
    harness_columns = columns.CASE | columns.TABLES[table]
    if not described and name in harness_columns:
        described = {"": harness_columns[name]}
    meanings: dict[str, list[str]] = {}
    for workload, column in described.items():
        meanings.setdefault(column.meaning, []).append(workload)
    kind = next((column.kind for column in described.values() if column.kind), None)
    unit = next((column.unit for column in described.values() if column.unit), None)
    entry = {"name": name, "type": kind_of(filled_rows[name].unique(), kind), "description": join_meanings(meanings)}
    return entry | ({"unit": unit} if unit else {})


def join_meanings(meanings: Mapping[str, list[str]]) -> str:
    """The meanings of a column, {meaning: workloads}, as one text."""
    if len(meanings) < 2:
        return next(iter(meanings), "empty in this file")
    return "; ".join(f"{', '.join(workloads)}: {meaning}" for meaning, workloads in meanings.items())


def kind_of(values: pd.Series, first_kind: str | None = None) -> str:
    """The first type of PATTERNS, from `first_kind` on, that all texts of a column match, or string.

    The type of a column without texts is `first_kind`, or string. Early publications have counts such as 1.0, which are
    numbers.
    """
    if first_kind == columns.STRING or not len(values):
        return first_kind or columns.STRING
    kinds = [*PATTERNS]
    candidates = kinds[kinds.index(first_kind) if first_kind else 0 :]
    return next((kind for kind in candidates if all(map(PATTERNS[kind].fullmatch, values))), columns.STRING)


def to_json(package: Mapping[str, Any]) -> str:
    """A package as JSON with a field a line, so that a change is a diff of few lines."""
    lines = json.dumps(package, indent=1, ensure_ascii=False)
    return INNERMOST.sub(lambda match: re.sub(r"\n *", " ", match[0]), lines) + "\n"
