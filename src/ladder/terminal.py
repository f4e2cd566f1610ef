"""Text for terminals: tables with aligned columns, lines that are wrapped at spaces."""

import shutil
import textwrap
from collections.abc import Iterable, Iterator, Sequence

WIDTH, TABLE_WIDTH = 120, 160  # columns of text and of tables, if the output is no terminal
GAP, INDENT = "  ", "    "


def table(header: Sequence[str], rows: Iterable[Sequence[str]], right_aligned: Sequence[str] = ()) -> Iterator[str]:
    """Yield the lines of a table with aligned columns; `right_aligned` names columns, the others are left-aligned.

    If a line is longer than the terminal, its last cell has a line of its own.
    """
    for row_lines in lines_by_row(header, rows, right_aligned):
        yield from row_lines


def lines_by_row(
    header: Sequence[str], rows: Iterable[Sequence[str]], right_aligned: Sequence[str] = ()
) -> Iterator[Sequence[str]]:
    """As `table`, but yield a list for the header and for each row: its lines, one or two."""
    all_rows = [header, *rows]
    column_widths = [max(map(len, column)) for column in zip(*all_rows, strict=True)]
    max_width = width(TABLE_WIDTH)
    for row in all_rows:
        *aligned, last = (
            cell.rjust(column_width) if name in right_aligned else cell.ljust(column_width)
            for name, cell, column_width in zip(header, row, column_widths, strict=True)
        )
        line = GAP.join([*aligned, last]).rstrip()
        yield [line] if len(line) <= max_width else [GAP.join(aligned).rstrip(), f"{INDENT}{last.strip()}"]


def titled_table(
    header: Sequence[str], titles: Sequence[str], rows: Sequence[Sequence[str]], right_aligned: Sequence[str] = ()
) -> Iterator[str]:
    """As `table`, with a title at the beginning of each row, or above it if a line would exceed the terminal."""
    lines = list(table(header, [[title, *row] for title, row in zip(titles, rows, strict=True)], right_aligned))
    if len(lines) == len(rows) + 1:
        yield from lines
        return
    header_lines, *lines_of_rows = lines_by_row(header[1:], rows, right_aligned)
    yield from (INDENT + line for line in header_lines)
    for title, row_lines in zip(titles, lines_of_rows, strict=True):
        yield from (*wrap(title), *(INDENT + line for line in row_lines))


def drop_empty_columns(
    header: Sequence[str], rows: Sequence[Sequence[str]]
) -> tuple[Sequence[str], Sequence[Sequence[str]]]:
    """The header and the rows without the columns whose cells are all empty, except for the header."""
    columns = [column for column in zip(header, *rows, strict=True) if any(column[1:])]
    header, *rows = zip(*columns, strict=True)
    return header, rows


def wrap(text: str) -> list[str]:
    """The lines of a text, wrapped at spaces to the width of the terminal."""
    return textwrap.wrap(text, width(), break_long_words=False, break_on_hyphens=False)


def width(default: int = WIDTH) -> int:
    """The number of columns of the terminal, `default` if the output is no terminal."""
    return shutil.get_terminal_size((default, 0)).columns
