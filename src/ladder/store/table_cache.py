"""A cache of tables on disk, because every figure, table and number of the paper would unpack and parse them again.

A table has one file, with parts that are read separately. Its header holds the key, such as the table's digest, and
the digest of every part: after a change of the table or of a cached byte, the content is made again.
"""

import contextlib
import hashlib
import itertools
import json
import os
import sys
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import BinaryIO

import numpy as np
import pandas as pd

from ladder.errors import LadderError
from ladder.records.files import write_atomically

# Nothing is cached in a working directory without the folder `results` of a study.
FOLDER = Path("results/cache/tables")


def load_part(table: Path, key: str, part: str = "") -> bytes | None:
    """The cached bytes of a part of a table, b"" if the table has no such part; None if the key has no valid entry."""
    with contextlib.suppress(OSError, ValueError, zlib.error), path_of(table).open("rb") as file:
        if (ranges := read_ranges(file, key)) is None:
            return None
        if part not in ranges:
            return b""
        start, length, digest = ranges[part]
        file.seek(start, 1)
        compressed = file.read(length)
        return zlib.decompress(compressed) if digest_of(compressed) == digest else None
    return None


def parts(table: Path, key: str) -> list[str] | None:
    """The names of the cached parts of a table; None if the key has no valid entry."""
    with contextlib.suppress(OSError, ValueError), path_of(table).open("rb") as file:
        ranges = read_ranges(file, key)
        return None if ranges is None else list(ranges)
    return None


def read_ranges(file: BinaryIO, key: str) -> dict[str, tuple[int, int, str]] | None:
    """{part: (start, length, digest)} from a cache file's header, which is read to its end; None if it isn't valid."""
    digest, _, line = file.readline().partition(b" ")
    if digest.decode() != digest_of(line) or (header := json.loads(line))["key"] != full_key(key):
        return None
    return header["parts"]


def store_parts(table: Path, key: str, parts: Mapping[str, bytes]) -> None:
    """Cache the parts of a table, {part: bytes}, in place of its earlier ones; does nothing if they can't be written.

    The file is a line, `digest of the header, header as JSON`, then the compressed parts.
    """
    if not FOLDER.parents[1].is_dir():
        return
    compressed = {name: zlib.compress(content, level=1) for name, content in parts.items()}
    starts = itertools.accumulate(map(len, compressed.values()), initial=0)
    ranges = {
        name: (start, len(part), digest_of(part))
        for start, (name, part) in zip(starts, compressed.items(), strict=False)
    }
    line = (json.dumps({"key": full_key(key), "parts": ranges}) + "\n").encode()
    with contextlib.suppress(LadderError):
        write_atomically(path_of(table), b"".join([digest_of(line).encode(), b" ", line, *compressed.values()]))


def path_of(table: Path) -> Path:
    """The cache file of a table."""
    return FOLDER / digest_of(os.fsencode(Path(table).absolute()))[:24]


def full_key(key: str) -> str:
    """A key with the digests of the code that reads tables, and the versions of Python, NumPy and pandas."""
    code = [digest_of(Path(__file__).with_name(name).read_bytes()) for name in ("table_files.py", "table_cache.py")]
    return " ".join([key, *code, sys.version.split()[0], np.__version__, pd.__version__])


def digest_of(content: bytes) -> str:
    """The sha256 of bytes."""
    return hashlib.sha256(content).hexdigest()
