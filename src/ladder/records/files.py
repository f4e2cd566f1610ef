"""Files that are replaced atomically, and JSON that is validated when it is read."""

import contextlib
import json
import os
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ladder.errors import LadderError

MAX_CLOCK_SKEW = 10**9  # nanoseconds by which a disk's clock may be ahead of this machine's


def temporary_path(path: Path) -> Path:
    """The path to which a file is written before it is renamed; the next writer overwrites what a killed one left."""
    return path.with_name(f".{path.name}.part")


def too_long_reason(path: Path | str) -> str | None:
    """Why a path is too long for the file system, or None; most allow names of 255 bytes."""
    temporary = temporary_path(Path(path).absolute())
    folder = next(folder for folder in temporary.parents if os.path.isdir(folder))  # noqa: PTH112, Path.is_dir may raise
    longest, limit = max(temporary.parts, key=lambda name: len(os.fsencode(name))), os.pathconf(folder, "PC_NAME_MAX")
    if (count := len(os.fsencode(longest))) > limit:
        return f"the file system allows names of at most {limit} bytes, and {abbreviate(longest)} has {count}"
    if (count := len(os.fsencode(temporary))) >= (limit := os.pathconf(folder, "PC_PATH_MAX")):
        return f"the file system allows paths of less than {limit} bytes, and {abbreviate(temporary)} has {count}"
    return None


def abbreviate(text: Path | str) -> str:
    """A long text reduced to its beginning and its end."""
    text = str(text)
    return f"{text[:40]}...{text[-40:]}" if len(text) > 83 else text


def require_utf8(*folders: Path | str) -> None:
    """Refuse folders whose paths aren't UTF-8 or can't be encoded in this locale: JSON, logs and digests need both."""
    for folder in folders:
        try:
            str(folder).encode() and os.fsencode(folder).decode()
        except UnicodeError:
            name = os.fsencode(folder).decode(errors="backslashreplace")
            raise LadderError(
                f"The name of {name} isn't UTF-8: rename the folder. If it is, set PYTHONUTF8=1 for this locale."
            ) from None


def write_atomically(path: Path | str, contents: bytes | str) -> None:
    """Replace a file by one with these contents, text or bytes, and create its folder; an error leaves the old file."""
    path = Path(path)
    temporary = temporary_path(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with temporary.open("wb") as file:
            file.write(contents.encode() if isinstance(contents, str) else contents)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise LadderError(
            f"{path} can't be written: {error.strerror}. Make room or allow writing, then run again."
        ) from None


def require_writable(path: Path | str) -> None:
    """Refuse a file that can't be written, before long work whose result would be lost.

    A file is replaced by a new one, which must not happen to a link, a device or a pipe.
    """
    path = Path(path)
    if reason := too_long_reason(path):
        raise LadderError(f"{abbreviate(path)} can't be written: {reason}. Give it a shorter name.")
    if path.is_dir():
        raise LadderError(f"{path} can't be written: it is a folder. Name a file.")
    if path.is_symlink() or (path.exists() and not path.is_file()):
        raise LadderError(f"{path} can't be replaced: it is a link, a device or a pipe. Name a plain file.")
    try:
        with tempfile.TemporaryFile(dir=nearest_folder(path)):
            pass
    except OSError as error:
        raise LadderError(f"{path} can't be written: {error.strerror}. Name another file, or allow writing.") from None


def clamp_future_times(folder: Path) -> None:
    """Set modification times that lie in the future, since the clock was set back, to now, in the same order.

    Snakemake compares these times: it would consider everything made from such a file outdated.
    """
    now, future_files = time.time_ns(), []
    for path in Path(folder).rglob("*"):
        with contextlib.suppress(OSError):  # another process may replace or remove it
            if path.is_file() and (modified := path.stat().st_mtime_ns) > now + MAX_CLOCK_SKEW:
                future_files.append((modified, path))
    for number, (_, path) in enumerate(sorted(future_files), start=1 - len(future_files)):  # the last file is number 0
        with contextlib.suppress(OSError):  # it may belong to another user
            os.utime(path, ns=(now + number * 1000,) * 2)  # 1 µs apart


def require_writable_folders(paths: Sequence[Path | str]) -> None:
    """Refuse files whose folders can't be written."""
    for folder in sorted({nearest_folder(Path(path)) for path in paths}):
        try:
            with tempfile.TemporaryFile(dir=folder):
                pass
        except OSError as error:
            raise LadderError(
                f"{folder} can't be written: {error.strerror}. Allow writing, or work in a copy of the project."
            ) from None


def nearest_folder(path: Path) -> Path:
    """The innermost existing folder above a path."""
    return next(folder for folder in path.absolute().parents if folder.exists())


def read_json(path: Path | str, *keys: str) -> dict[str, Any]:
    """The JSON object in a file. Raises LadderError if the file can't be read or the object lacks one of the keys."""
    try:
        document = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise LadderError(f"{path} can't be read: {error.strerror}.") from None
    except (ValueError, RecursionError) as error:  # truncated JSON, or bytes that aren't UTF-8
        raise LadderError(f"{path} is not JSON ({error}). Delete it and make it again.") from None
    if not isinstance(document, dict) or not set(keys) <= set(document):
        raise LadderError(f"{path} must be a JSON object with {', '.join(keys) or 'keys'}.")
    return document
