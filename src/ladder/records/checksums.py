"""The sha256 sums of files that the project has made, stored beside them in the format of `sha256sum`.

A file in which a disk changed a byte may still be valid: an image with another pixel, a table with another time.
"""

import hashlib
from pathlib import Path

from ladder.records.files import write_atomically

NAME = "SHA256SUMS"


def of(path):
    """The sha256 of a file, in hexadecimal digits."""
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write(folder, names):
    """Write the sums of these files of a folder."""
    write_atomically(Path(folder, NAME), "".join(f"{of(Path(folder, name))}  {name}\n" for name in names))


def mistake(path):
    """Why a file doesn't match its sum, or None; also None without a sum, or if the file doesn't exist."""
    path = Path(path)
    try:
        lines = path.with_name(NAME).read_text(encoding="utf-8", errors="replace").splitlines()
        expected = [line.partition("  ")[0] for line in lines if line.endswith(f"  {path.name}")]
        if expected and of(path) not in expected:
            return f"its sha256 is not the one that {NAME} beside it has"
    except FileNotFoundError:
        pass
    return None
