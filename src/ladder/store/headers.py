"""The header of a stored table has every column of the harness, even if the table has no rows or a column no values.

So a program can read any table, and name any documented column. Columns are appended; no cell that has a value changes.
"""

import csv
import gzip
import io
import zlib
from pathlib import Path

from ladder.errors import LadderError
from ladder.records.files import write_atomically
from ladder.store import TABLES, columns


def required_columns(table: str) -> list[str]:
    """The columns that every table of this name has."""
    return [*columns.CASE, *columns.TABLES[table]]


def complete_header(text: str, table: str) -> str:
    """The text of a CSV table with the columns that it lacks, empty; unchanged if it lacks none."""
    names, *rows = [*csv.reader(io.StringIO(text))] if text.strip() else [[]]
    missing = [name for name in required_columns(table) if name not in names]
    if not missing:
        return text
    lines = io.StringIO()
    writer = csv.writer(lines, lineterminator="\n")
    writer.writerows([[*names, *missing], *([*row, *[""] * len(missing)] for row in rows)])
    return lines.getvalue()


def complete_published(folder: Path) -> None:
    """Complete the tables of a published folder. Raises LadderError for one that can't be read."""
    for table in TABLES:
        path = Path(folder) / f"{table}.csv.gz"
        if not path.exists():
            continue
        try:
            text = gzip.decompress(path.read_bytes()).decode()
            completed = complete_header(text, table)
        except (OSError, EOFError, ValueError, csv.Error, zlib.error) as error:
            raise LadderError(f"The table {path} can't be read: {error}. Restore it.") from None
        if completed != text:
            write_atomically(path, compress(completed))


def compress(text: str) -> bytes:
    """A text compressed, without a time stamp: the same measurements give the same bytes."""
    return gzip.compress(text.encode(), mtime=0)
