"""Contents of tables kept on disk, since every figure, table and number of the paper would unpack and parse them again.

What is kept of a table lies in one file, in parts that are read one by one. It has the key of what it was made from,
such as the digest of the table, and the digest of every part, so that neither a changed table nor a changed byte gives
another content: then it is made again.
"""

import contextlib
import hashlib
import itertools
import json
import os
import sys
import zlib
from pathlib import Path

import numpy as np
import pandas as pd

from ladder.errors import LadderError
from ladder.records.files import write_atomically

# Whoever works without a study, which has the folder `results`, keeps nothing.
FOLDER = Path("results/cache/tables")


def recall(table, key, part=""):
    """The bytes of a part of a table's content, b"" where it has no such part; None where none is kept for the key."""
    with contextlib.suppress(OSError, ValueError, zlib.error), path_of(table).open("rb") as file:
        digest, _, line = file.readline().partition(b" ")
        if digest.decode() != of(line) or (head := json.loads(line))["key"] != full(key):
            return None
        if part not in head["parts"]:
            return b""
        start, length, digest = head["parts"][part]
        file.seek(start, 1)
        packed = file.read(length)
        return zlib.decompress(packed) if of(packed) == digest else None
    return None


def keep(table, key, parts):
    """Keep the content of a table, {part: bytes}, in place of what was kept of it; none where it can't be written."""
    if not FOLDER.parents[1].is_dir():
        return
    packed = {name: zlib.compress(content, level=1) for name, content in parts.items()}
    starts = itertools.accumulate(map(len, packed.values()), initial=0)
    places = {name: (start, len(part), of(part)) for start, (name, part) in zip(starts, packed.items(), strict=False)}
    line = (json.dumps({"key": full(key), "parts": places}) + "\n").encode()
    with contextlib.suppress(LadderError):
        write_atomically(path_of(table), b"".join([of(line).encode(), b" ", line, *packed.values()]))


def path_of(table):
    """Where the content of a table is kept."""
    return FOLDER / of(os.fsencode(Path(table).absolute()))[:24]


def full(key):
    """A key with what else makes the content: the code that reads tables, and the libraries that parse them."""
    code = [of(Path(__file__).with_name(name).read_bytes()) for name in ("stored.py", "table_cache.py")]
    return " ".join([key, *code, sys.version.split()[0], np.__version__, pd.__version__])


def of(content):
    return hashlib.sha256(content).hexdigest()
