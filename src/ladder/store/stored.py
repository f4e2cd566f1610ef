"""Tables as they lie in files, read back only where they are whole.

Every line has as many fields as the head, and ends; the columns of REQUIRED are there and filled in every row, those of
NUMBERS with numbers. What was published has rows, and of no other machine than its description names.
"""

import csv
import functools
import gzip
import io
import pickle
import re
import zlib
from pathlib import Path

import numpy as np
import pandas as pd

from ladder.errors import LadderError
from ladder.records import checksums, documents
from ladder.store import TABLES, table_cache

CASE = ("machine", "experiment", "workload", "variant", "case")
# Columns that every row of a table fills, and those of them that hold numbers, none of them negative.
REQUIRED = {
    "samples": (*CASE, "cache", "device", "flops", "bytes", "precision", "process", "sample", "phase", "seconds"),
    "checks": (*CASE, "process", "check", "error", "bound"),
    "curves": (*CASE, "process"),
    "traces": (*CASE, "process", "lane", "name", "start", "end"),
    "missing": (*CASE, "why"),
    "sensitivity": ("workload", "variant", "case", "dtype", "array", "fault", "check", "places", "seen"),
}
NUMBERS = {"flops", "bytes", "process", "sample", "seconds", "error", "bound", "start", "end", "places", "seen"}
# Columns of text, which may look like numbers: machines 0815 and 1e5, a commit of digits, a batch's number.
TEXTS = {name for names in REQUIRED.values() for name in names} - NUMBERS | {"commit"}
# How the number of a size or a tuning begins; a list such as 784-10 does too, and is taken for no number anyway.
NUMERIC = re.compile("-?[0-9]")
# A number of which pandas 2 changes the last digit.
ROUNDED = 0.00013445080768799
# The published tables that have rows: nothing is published without a case.
NEVER_EMPTY = ("samples", "checks")


def load(folder):
    """An experiment's tables by name."""
    return {name: read(Path(folder) / f"{name}.csv", name) for name in TABLES}


def read(path, table=None):
    """A table as `collect` writes it, or another CSV file with the columns that REQUIRED has for `table`."""
    key = key_of(path)
    if content := key and table_cache.recall(path, f"{key} {table}"):
        return pickle.loads(content)
    frame = parsed(path, table, lambda: lines_of(path))
    if key:
        table_cache.keep(path, f"{key} {table}", {"": pickle.dumps(frame, protocol=5)})
    return frame


def key_of(*paths):
    """The digests of files that are as they were noted; None where one isn't, or isn't there."""
    try:
        return None if any(map(checksums.mismatch, paths)) else " ".join(map(checksums.sha256, paths))
    except OSError:
        return None


def published(folder, table, experiment=None):
    """A published table of all experiments, or of one with the columns that it fills. Raises LadderError."""
    path = Path(folder) / f"{table}.csv.gz"
    if table == "traces" and not path.exists():  # what was published early has none
        return pd.DataFrame()
    return parsed(path, table, lambda: lines_published(path, table, experiment), is_part=bool(experiment))


def parsed(path, table, lines, is_part=False):
    """The frame of the lines of a file that a function gives, without columns if it has no lines.

    The lines of a part of the table fill some columns only.
    """
    try:
        frame = typed("".join(lines()))
        require_filled(frame, REQUIRED.get(table, ()))
        return in_blocks(with_integers(frame.dropna(axis="columns", how="all") if is_part else frame))
    except pd.errors.EmptyDataError:
        return pd.DataFrame()
    except (OSError, EOFError, ValueError, csv.Error, zlib.error) as error:  # a torn archive gives any of them
        raise LadderError(f"The table {path} can't be read: {error}. Restore it, or make it again.") from None


def typed(text):
    """The frame of a CSV text: a column is text where it is text by its name, or where a case of it has a word for it.

    A tuning may be called true or inf. Every other column is of the type that it looks like.
    """
    frame = read_csv(text, TEXTS)
    words = {name for slug in frame["case"].dropna().unique() for name in words_of(slug)} if "case" in frame else set()
    # A tuning may be called as a number of the table is: the error of a check, of a training that counts it somehow.
    misread = {name for name in (words & {*frame}) - NUMBERS if not pd.api.types.is_string_dtype(frame[name])}
    return read_csv(text, TEXTS | misread) if misread else frame


def read_csv(text, texts):
    """The frame of a CSV text with these columns as text; nothing is missing but what is empty: a lane may be null."""
    types = dict.fromkeys(texts, str)
    return pd.read_csv(
        io.StringIO(text), low_memory=False, dtype=types, keep_default_na=False, na_values=[""], **exactly()
    )


@functools.cache
def exactly():
    """The option that makes pandas read a number as it is written: early versions round without it, later ones warn."""
    is_exact = pd.read_csv(io.StringIO(f"seconds\n{ROUNDED}\n"))["seconds"].tolist() == [ROUNDED]
    return {} if is_exact else {"float_precision": "round_trip"}


def words_of(slug):
    """The names of a case's sizes and tunings that have a word."""
    pairs = (pair.partition("=") for pair in slug.split(","))
    return [name for name, _, value in pairs if not NUMERIC.match(value)]


def lines_of(path):
    """A table's lines. Raises ValueError where some have more or fewer fields than the head."""
    lines = lines_in(path)
    require_even(lines)
    return lines


def lines_in(path):
    """A table's lines, the last of which ends. Raises ValueError where the table isn't the one that was written."""
    if wrong := checksums.mismatch(path):
        raise ValueError(wrong)
    content = Path(path).read_bytes()
    text = (gzip.decompress(content) if Path(path).suffix == ".gz" else content).decode()
    lines = io.StringIO(text, newline="").readlines()
    if not lines or not lines[-1].endswith("\n"):
        raise ValueError("it is cut off")
    return lines


def require_even(lines):
    """Refuse lines with more or fewer fields than the head, which is the first of them."""
    if len({*map(commas, lines)}) > 1:  # or a cell has several lines
        rows = csv.reader(lines)
        width = len(next(rows))
        for row in rows:
            if len(row) != width:
                raise ValueError(f"line {rows.line_num} has {len(row)} fields where the head has {width}")


def commas(line):
    """How many commas a line has outside of quotes."""
    return "".join(line.split('"')[::2]).count(",")


def lines_published(path, table, experiment=None):
    """A published table's lines, or its head and those of an experiment, or none where it has none of it.

    To parse all others takes a second, and a head of a hundred columns alone as long as some lines.
    """
    if not experiment:
        return unpacked(path, table)[0]
    key = key_of(path, path.parent / "machine.json")
    content = table_cache.recall(path, key, experiment) if key else None
    if content is None:
        lines, by_experiment = unpacked(path, table)
        require_even(lines)
        parts = {name: "".join([lines[0], *part]).encode() for name, part in by_experiment.items()}
        if key:
            table_cache.keep(path, key, parts)
        content = parts.get(experiment, b"")
    return io.StringIO(content.decode(), newline="").readlines()


def unpacked(path, table):
    """A published table's lines, and by experiment those below its head."""
    head, *below = lines = lines_in(path)
    about = documents.read(path.parent / "machine.json", "publication")
    if table in NEVER_EMPTY and not below:
        raise ValueError("it has no rows")
    if below and not head.startswith("machine,experiment,"):
        raise ValueError("its first columns aren't machine and experiment")
    by_experiment = {}
    for line in below:
        if line.count(",") < 2:
            require_even(lines)
        machine, experiment, _ = line.split(",", 2)
        if machine != about["machine"]:
            raise ValueError(f"it has a row of the machine {machine!r} where machine.json is of {about['machine']}")
        by_experiment.setdefault(experiment, []).append(line)
    return lines, by_experiment


def require_filled(frame, columns):
    """Refuse a table without these columns, or with a row that lacks their values."""
    if missing := [name for name in columns if name not in frame]:
        raise ValueError(f"it has no column {missing[0]}")
    for name in columns:
        values = frame[name]
        if name in NUMBERS and len(frame):
            numbers = pd.to_numeric(values, errors="coerce").to_numpy(dtype=float)
            is_right = np.isfinite(numbers) & (numbers >= 0)
        else:
            is_right = values.notna().to_numpy()
        if not is_right.all():
            place = is_right.argmin()
            raise ValueError(f"its row {place + 1} has {values.iloc[place]} as its {name}")


def with_integers(frame):
    """The table with whole numbers in the columns that have no other, also where some rows have none."""
    floats = frame.select_dtypes("float")
    gaps = [name for name in floats if floats[name].isna().any() and floats[name].notna().any()]
    names = [name for name in gaps if (floats[name].dropna() % 1 == 0).all()]
    return frame.astype(dict.fromkeys(names, "Int64"))


def in_blocks(frame):
    """The table with all columns of a type in one array, of which rows are picked much faster than of each column."""
    return frame.astype(dict.fromkeys(frame.select_dtypes("string"), object)).copy()
