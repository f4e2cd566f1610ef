"""The SHA-256 checksums of files that the project has made, stored beside them in the format of `sha256sum`.

They detect bytes that a disk has changed: such a file may still be valid, with another pixel or another time.
"""

import hashlib
from collections.abc import Iterable
from pathlib import Path

from ladder.records.files import write_atomically

FILE_NAME = "SHA256SUMS"


def sha256(path: Path | str) -> str:
    """The sha256 of a file, in hexadecimal digits."""
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write(folder: Path | str, names: Iterable[str]) -> None:
    """Write the checksums of these files of a folder."""
    write_atomically(Path(folder, FILE_NAME), "".join(f"{sha256(Path(folder, name))}  {name}\n" for name in names))


def mismatch(path: Path | str) -> str | None:
    """Why a file doesn't match its checksum; None if it does, or if the checksum or the file is missing."""
    path = Path(path)
    try:
        lines = path.with_name(FILE_NAME).read_text(encoding="utf-8", errors="replace").splitlines()
        expected = [line.partition("  ")[0] for line in lines if line.endswith(f"  {path.name}")]
        if expected and sha256(path) not in expected:
            return f"its SHA-256 sum differs from the one in the {FILE_NAME} beside it"
    except FileNotFoundError:
        pass
    return None
