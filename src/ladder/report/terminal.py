"""Text for terminals: quantities with units, tables with aligned columns."""

import shutil
import textwrap

from ladder.report import ratios
from ladder.report.latex import digits

NONE = "–"
WIDTH = 100  # columns, if the output is no terminal
GAP, INDENT = "  ", "    "
PREFIXES = (
    (1e15, "P"),
    (1e12, "T"),
    (1e9, "G"),
    (1e6, "M"),
    (1e3, "k"),
    (1, ""),
    (1e-3, "m"),
    (1e-6, "µ"),
    (1e-9, "n"),
)
LARGE = PREFIXES[:6]  # of rates


def scale_of(value, prefixes=PREFIXES):
    """The first scale in which a value is at least 1, with its prefix; the smallest for anything less."""
    return next((pair for pair in prefixes if abs(value) >= pair[0]), prefixes[-1])


def seconds(value):
    """A time with three digits in s, ms, µs or ns."""
    scale, prefix = scale_of(value, PREFIXES[5:])
    return f"{digits(value / scale)} {prefix}s"


def seconds_with_interval(ratio):
    """A time and its interval in the same unit; without an interval that has two ends, the time alone."""
    if not ratios.is_bounded(ratio.low, ratio.high):
        return seconds(ratio.value)
    scale, prefix = scale_of(ratio.value, PREFIXES[5:])
    value, low, high = (digits(number / scale) for number in (ratio.value, ratio.low, ratio.high))
    return f"{value} {prefix}s [{low}, {high}]"


def rate(value, unit):
    """A rate with three digits and a decimal prefix."""
    scale, prefix = scale_of(value, LARGE)
    return f"{digits(value / scale)} {prefix}{unit}"


def percent(share):
    """A share in per cent with two digits; NONE without one."""
    return NONE if share is None else f"{digits(100 * share, 2)} %"


def table(head, rows, right=()):
    """Yield the lines of a table whose columns are aligned; those whose names are in `right` to the right.

    Where a line is longer than the terminal, the last cell has a line of its own.
    """
    cells = [head, *rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    longest = width()
    for row in cells:
        *aligned, last = (
            cell.rjust(size) if name in right else cell.ljust(size)
            for name, cell, size in zip(head, row, widths, strict=True)
        )
        line = GAP.join([*aligned, last]).rstrip()
        yield from [line] if len(line) <= longest else [GAP.join(aligned).rstrip(), f"{INDENT}{last.strip()}"]


def titled_table(head, titles, rows, right=()):
    """As `table`, with a title at the beginning of each row, or above it if a line would exceed the terminal."""
    lines = list(table(head, [[title, *row] for title, row in zip(titles, rows, strict=True)], right))
    if len(lines) == len(rows) + 1:
        yield from lines
        return
    first, *lines = table(head[1:], rows, right)
    yield INDENT + first
    for title, line in zip(titles, lines, strict=True):
        yield from (*wrapped(title), INDENT + line)


def wrapped(text):
    """The lines of a text, broken at blanks."""
    return textwrap.wrap(text, width(), break_long_words=False, break_on_hyphens=False)


def width():
    """The number of columns of the terminal, WIDTH for other outputs."""
    return shutil.get_terminal_size((WIDTH, 0)).columns
