"""The sha256 sums of files that the project has made, noted beside them as `sha256sum` does.

A byte that a disk changes may leave a file in its format: an image with another pixel, a table with another second.
"""

import hashlib
from pathlib import Path

from ladder.records.files import write_atomically

NAME = "SHA256SUMS"


def of(path):
    """The sha256 of a file, in hexadecimal digits."""
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def note(folder, names):
    """Note the sums of these files of a folder."""
    write_atomically(Path(folder, NAME), "".join(f"{of(Path(folder, name))}  {name}\n" for name in names))


def mistake(path):
    """Why a file isn't the one that was noted, or None; also where nothing is noted, or the file isn't there."""
    path = Path(path)
    try:
        lines = path.with_name(NAME).read_text(encoding="utf-8", errors="replace").splitlines()
        noted = [line.partition("  ")[0] for line in lines if line.endswith(f"  {path.name}")]
        if noted and of(path) not in noted:
            return f"its sha256 is not the one that {NAME} beside it has"
    except FileNotFoundError:
        pass
    return None
