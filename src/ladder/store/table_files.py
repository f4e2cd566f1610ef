"""Read tables from files, and refuse damaged ones.

Every line must end and have as many fields as the header; every row must have values in the REQUIRED_COLUMNS, and
numbers in the NUMBER_COLUMNS. A published table must have rows, all of them of the machine that its description names.
"""

import contextlib
import csv
import functools
import gzip
import io
import pickle
import re
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ladder.errors import LadderError
from ladder.records import checksums, documents
from ladder.store import TABLES, table_cache

RECORD_COLUMNS = ("machine", "experiment", "workload", "variant", "case")
# The columns in which every row of a table must have a value, and those of them with numbers, which aren't negative.
REQUIRED_COLUMNS = {
    "samples": (
        *RECORD_COLUMNS,
        "cache",
        "device",
        "flops",
        "bytes",
        "precision",
        "process",
        "sample",
        "phase",
        "seconds",
    ),
    "checks": (*RECORD_COLUMNS, "process", "check", "error", "bound"),
    "curves": (*RECORD_COLUMNS, "process"),
    "traces": (*RECORD_COLUMNS, "process", "lane", "name", "start", "end"),
    "missing": (*RECORD_COLUMNS, "why"),
    "sensitivity": ("workload", "variant", "case", "dtype", "array", "fault", "check", "places", "seen"),
}
NUMBER_COLUMNS = {"flops", "bytes", "process", "sample", "seconds", "error", "bound", "start", "end", "places", "seen"}
# Columns of text, even if it looks like numbers: a machine 0815 or 1e5, a commit of digits, a batch's number.
TEXT_COLUMNS = {name for names in REQUIRED_COLUMNS.values() for name in names} - NUMBER_COLUMNS | {
    "commit",
    "campaign",
    "host",
    "gpu",
}
# How the number of a size or a tuning begins. A list such as 784-10 matches too, but pandas reads no number in it.
NUMBER_START = re.compile("-?[0-9]")
# pandas 2 changes the last digit of this number when it reads it with its default options.
PROBE_NUMBER = 0.00013445080768799
# The published tables that must have rows: every publication has a case.
NEVER_EMPTY = ("samples", "checks")


def load(folder: Path | str) -> dict[str, pd.DataFrame]:
    """An experiment's tables by name."""
    return {name: read(Path(folder) / f"{name}.csv", name) for name in TABLES}


def read(path: Path, table: str | None = None) -> pd.DataFrame:
    """A table as `collect` writes it, or another CSV file with the columns that REQUIRED_COLUMNS has for `table`."""
    key = cache_key(path)
    if content := key and table_cache.load_part(path, f"{key} {table}"):
        return pickle.loads(content)
    frame = parse(path, table, lambda: lines_of_equal_width(path))
    if key:
        table_cache.store_parts(path, f"{key} {table}", {"": pickle.dumps(frame, protocol=5)})
    return frame


def cache_key(*paths: Path) -> str | None:
    """The digests of files as a cache key; None if a file is missing or differs from its noted checksum."""
    try:
        return None if any(map(checksums.mismatch, paths)) else " ".join(map(checksums.sha256, paths))
    except OSError:
        return None


def read_published(folder: Path | str, table: str, experiment: str | None = None) -> pd.DataFrame:
    """A published table of all experiments, or of one as pandas infers the types of these rows. Raises LadderError."""
    path = Path(folder) / f"{table}.csv.gz"
    if table == "traces" and not path.exists():  # early publications have none
        return pd.DataFrame()
    return parse(path, table, lambda: published_lines(path, table, experiment), is_part=bool(experiment))


def parse(path: Path, table: str | None, read_lines: Callable[[], list[str]], is_part: bool = False) -> pd.DataFrame:
    """The frame of the lines that `read_lines()` returns; without columns if there are no lines.

    Its types are those of `with_types`, or with `is_part` those of pandas. Raises LadderError, which names `path`.
    """
    with translate_errors(path):
        lines = read_lines()
        if not lines:
            return pd.DataFrame()
        try:
            frame = parse_csv("".join(lines))
        except pd.errors.EmptyDataError:
            return pd.DataFrame()
        require_filled(frame, REQUIRED_COLUMNS.get(table or "", ()))
        return frame if is_part else with_types(frame)


@contextlib.contextmanager
def translate_errors(path: Path) -> Iterator[None]:
    """A context that turns the errors of a damaged table into a LadderError that names its `path`."""
    try:
        yield
    except (OSError, EOFError, ValueError, csv.Error, zlib.error) as error:  # a truncated archive raises any of them
        raise LadderError(f"The table {path} can't be read: {error}. Restore it, or make it again.") from None


def parse_csv(text: str) -> pd.DataFrame:
    """The frame of a CSV text. The TEXT_COLUMNS are text, and so are sizes and tunings whose values are words.

    Such a word may be true or inf. pandas infers the type of every other column.
    """
    frame = read_csv(text, TEXT_COLUMNS)
    slugs = frame["case"].dropna().unique() if "case" in frame else ()
    word_columns = {name for slug in slugs for name in names_with_words(slug)}
    # A tuning may have the name of a column of NUMBER_COLUMNS, such as `error`, which stays a number.
    candidates = (word_columns & {*frame}) - NUMBER_COLUMNS
    misread = {name for name in candidates if not pd.api.types.is_string_dtype(frame[name])}
    return read_csv(text, TEXT_COLUMNS | misread) if misread else frame


def read_csv(text: str, texts: set[str]) -> pd.DataFrame:
    """The frame of a CSV text, the columns `texts` as text; only empty cells are missing: a lane may be named null."""
    types = dict.fromkeys(texts, str)
    return pd.read_csv(
        io.StringIO(text), low_memory=False, dtype=types, keep_default_na=False, na_values=[""], **exact_float_option()
    )


@functools.cache
def exact_float_option() -> dict[str, Any]:
    """The option with which pandas reads floats exactly: early versions round without it, later ones warn about it."""
    is_exact = pd.read_csv(io.StringIO(f"seconds\n{PROBE_NUMBER}\n"))["seconds"].tolist() == [PROBE_NUMBER]
    return {} if is_exact else {"float_precision": "round_trip"}


def names_with_words(slug: str) -> list[str]:
    """The names of a case's sizes and tunings whose values are words."""
    pairs = (pair.partition("=") for pair in slug.split(","))
    return [name for name, _, value in pairs if not NUMBER_START.match(value)]


def lines_of_equal_width(path: Path) -> list[str]:
    """A table's lines. Raises ValueError if they have different numbers of fields."""
    lines = intact_lines(path)
    require_equal_widths(lines)
    return lines


def intact_lines(path: Path) -> list[str]:
    """A table's lines. Raises ValueError if the last one doesn't end, or the file differs from its noted checksum."""
    if mistake := checksums.mismatch(path):
        raise ValueError(mistake)
    content = Path(path).read_bytes()
    text = (gzip.decompress(content) if Path(path).suffix == ".gz" else content).decode()
    lines = io.StringIO(text, newline="").readlines()
    if not lines or not lines[-1].endswith("\n"):
        raise ValueError("it is cut off")
    return lines


def require_equal_widths(lines: Sequence[str]) -> None:
    """Raise ValueError for a line with more or fewer fields than the header, which is the first line."""
    if len({*map(count_commas, lines)}) > 1:  # a damaged line, or a cell with several lines
        rows = csv.reader(lines)
        width = len(next(rows))
        for row in rows:
            if len(row) != width:
                raise ValueError(f"line {rows.line_num} has {len(row)} fields where the header has {width}")


def count_commas(line: str) -> int:
    """The number of commas of a line outside of quotes."""
    return "".join(line.split('"')[::2]).count(",")


def published_experiments(folder: Path | str, table: str) -> frozenset[str]:
    """The names of the experiments with rows in a published table. Raises LadderError."""
    path = Path(folder) / f"{table}.csv.gz"
    if table == "traces" and not path.exists():
        return frozenset()
    key = cache_key(path, path.parent / "machine.json")
    names = table_cache.parts(path, key) if key else None
    with translate_errors(path):
        return frozenset(split_lines(path, table, key) if names is None else names)


def published_lines(path: Path, table: str, experiment: str | None = None) -> list[str]:
    """A published table's lines, or its header and the lines of an experiment; none without any of the experiment.

    The lines of each experiment are cached, because parsing the whole table takes a second.
    """
    if not experiment:
        return lines_by_experiment(path, table)[0]
    key = cache_key(path, path.parent / "machine.json")
    content = table_cache.load_part(path, key, experiment) if key else None
    if content is None:
        content = split_lines(path, table, key).get(experiment, b"")
    return io.StringIO(content.decode(), newline="").readlines()


def split_lines(path: Path, table: str, key: str | None) -> dict[str, bytes]:
    """{experiment: the header and its lines} of a published table, which are cached if there is a key."""
    lines, by_experiment = lines_by_experiment(path, table)
    require_equal_widths(lines)
    parts = {name: "".join([lines[0], *part]).encode() for name, part in by_experiment.items()}
    if key:
        table_cache.store_parts(path, key, parts)
    return parts


def lines_by_experiment(path: Path, table: str) -> tuple[list[str], dict[str, Any]]:
    """A published table's lines, and {experiment: lines} without the header."""
    header, *body = lines = intact_lines(path)
    publication = documents.read(path.parent / "machine.json", "publication")
    if table in NEVER_EMPTY and not body:
        raise ValueError("it has no rows")
    if body and not header.startswith("machine,experiment,"):
        raise ValueError("its first columns aren't machine and experiment")
    by_experiment: dict[str, list[str]] = {}
    for line in body:
        if line.count(",") < 2:
            require_equal_widths(lines)
        machine, experiment, _ = line.split(",", 2)
        if machine != publication["machine"]:
            raise ValueError(
                f"it has a row of the machine {machine!r} where machine.json is of {publication['machine']}"
            )
        by_experiment.setdefault(experiment, []).append(line)
    return lines, by_experiment


def require_filled(frame: pd.DataFrame, columns: Sequence[str]) -> None:
    """Raise ValueError for a table without these columns, or with a row without a valid value in one."""
    if missing := [name for name in columns if name not in frame]:
        raise ValueError(f"it has no column {missing[0]}")
    for name in columns:
        values = frame[name]
        if name in NUMBER_COLUMNS and len(frame):
            numbers = pd.to_numeric(values, errors="coerce").to_numpy(dtype=float)
            is_valid = np.isfinite(numbers) & (numbers >= 0)
        else:
            is_valid = values.notna().to_numpy()
        if not is_valid.all():
            index = is_valid.argmin()
            raise ValueError(f"its row {index + 1} has {values.iloc[index]} as its {name}")


def with_types(frame: pd.DataFrame) -> pd.DataFrame:
    """The table with type Int64 for columns of floats that are all integers or missing, and text as objects.

    All columns of a type are in one array: selecting rows is much faster than column by column.
    """
    floats = frame.select_dtypes("float")
    is_missing = floats.isna()
    incomplete = floats.columns[is_missing.any() & ~is_missing.all()]
    integers = [name for name in incomplete if (floats[name].dropna() % 1 == 0).all()]
    types = dict.fromkeys(integers, "Int64") | dict.fromkeys(frame.select_dtypes("string"), object)
    return frame.astype(types).copy()
