"""Text for terminals: tables with aligned columns, lines that are broken at blanks."""

import shutil
import textwrap
from collections.abc import Iterable, Iterator, Sequence

WIDTH, TABLE_WIDTH = 120, 160  # columns of text and of tables, if the output is no terminal
GAP, INDENT = "  ", "    "


def table(head: Sequence[str], rows: Iterable[Sequence[str]], right: Sequence[str] = ()) -> Iterator[str]:
    """Yield the lines of a table with aligned columns; `right` has the names of those aligned to the right.

    If a line is longer than the terminal, its last cell has a line of its own.
    """
    for lines in table_rows(head, rows, right):
        yield from lines


def table_rows(
    head: Sequence[str], rows: Iterable[Sequence[str]], right: Sequence[str] = ()
) -> Iterator[Sequence[str]]:
    """As `table`: the lines of each row, one or two."""
    cells = [head, *rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    max_width = width(TABLE_WIDTH)
    for row in cells:
        *aligned, last = (
            cell.rjust(size) if name in right else cell.ljust(size)
            for name, cell, size in zip(head, row, widths, strict=True)
        )
        line = GAP.join([*aligned, last]).rstrip()
        yield [line] if len(line) <= max_width else [GAP.join(aligned).rstrip(), f"{INDENT}{last.strip()}"]


def titled_table(
    head: Sequence[str], titles: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[str] = ()
) -> Iterator[str]:
    """As `table`, with a title at the beginning of each row, or above it if a line would exceed the terminal."""
    lines = list(table(head, [[title, *row] for title, row in zip(titles, rows, strict=True)], right))
    if len(lines) == len(rows) + 1:
        yield from lines
        return
    first, *others = table_rows(head[1:], rows, right)
    yield from (INDENT + line for line in first)
    for title, row_lines in zip(titles, others, strict=True):
        yield from (*wrapped(title), *(INDENT + line for line in row_lines))


def drop_empty_columns(
    head: Sequence[str], rows: Sequence[Sequence[str]]
) -> tuple[Sequence[str], Sequence[Sequence[str]]]:
    """The head and the rows without the columns whose cells are all empty, except for the head."""
    columns = [column for column in zip(head, *rows, strict=True) if any(column[1:])]
    head, *rows = zip(*columns, strict=True)
    return head, rows


def wrapped(text: str) -> list[str]:
    """The lines of a text, broken at blanks."""
    return textwrap.wrap(text, width(), break_long_words=False, break_on_hyphens=False)


def width(default: int = WIDTH) -> int:
    """The number of columns of the terminal, `default` if the output is no terminal."""
    return shutil.get_terminal_size((default, 0)).columns
