"""Files that are replaced at once or not at all, and JSON that is read back only if it is sound."""

import contextlib
import json
import os
import tempfile
import time
from pathlib import Path

from ladder.errors import LadderError

FUTURE = 10**9  # nanoseconds by which a disk's clock may be ahead of this machine's


def part_of(path):
    """Where a file is written before it is put in its place; what a killed writer leaves, the next one replaces."""
    return path.with_name(f".{path.name}.part")


def beyond_limits(path):
    """Why the file system takes no file of this path, for its length, or None; most take 255 bytes a name."""
    part = part_of(Path(path).absolute())
    there = next(folder for folder in part.parents if os.path.isdir(folder))  # noqa: PTH112, that of Path may raise
    longest, most = max(part.parts, key=lambda name: len(os.fsencode(name))), os.pathconf(there, "PC_NAME_MAX")
    if (count := len(os.fsencode(longest))) > most:
        return f"the file system takes names of at most {most} bytes, and {shortened(longest)} has {count}"
    if (count := len(os.fsencode(part))) >= (most := os.pathconf(there, "PC_PATH_MAX")):
        return f"the file system takes paths of less than {most} bytes, and {shortened(part)} has {count}"
    return None


def shortened(text):
    """The two ends of a long text."""
    text = str(text)
    return f"{text[:40]}...{text[-40:]}" if len(text) > 83 else text


def write_atomically(path, contents):
    """Replace a file by a text or bytes at once, making its folder; a full disk leaves the old file and a sentence."""
    path = Path(path)
    part = part_of(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with part.open("wb") as file:
            file.write(contents.encode() if isinstance(contents, str) else contents)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):
            part.unlink()
        raise LadderError(
            f"{path} can't be written: {error.strerror}. Make room or allow writing, then run again."
        ) from None


def require_writable(path):
    """Raises LadderError where a file can't be written, for who would lose long work by finding out in the end.

    A file is replaced by a new one, which must not happen to a link, a device or a pipe.
    """
    path = Path(path)
    if reason := beyond_limits(path):
        raise LadderError(f"{shortened(path)} can't be written: {reason}. Give it a shorter name.")
    if path.is_dir():
        raise LadderError(f"{path} can't be written: it is a folder. Name a file.")
    if path.is_symlink() or (path.exists() and not path.is_file()):
        raise LadderError(f"{path} can't be replaced: it is a link, a device or a pipe. Name a plain file.")
    try:
        with tempfile.TemporaryFile(dir=above(path)):
            pass
    except OSError as error:
        raise LadderError(f"{path} can't be written: {error.strerror}. Name another file, or allow writing.") from None


def bring_to_now(folder):
    """Give files of the future, from before a clock was set back, times of now in their order.

    Snakemake goes by these times: it would refuse all that is made from such a file until the clock reaches it.
    """
    now, ahead = time.time_ns(), []
    for path in Path(folder).rglob("*"):
        with contextlib.suppress(OSError):  # another process replaces or removes it
            if path.is_file() and (changed := path.stat().st_mtime_ns) > now + FUTURE:
                ahead.append((changed, path))
    for number, (_, path) in enumerate(sorted(ahead), start=1 - len(ahead)):
        with contextlib.suppress(OSError):  # one that is somebody else's
            os.utime(path, ns=(now + number * 1000,) * 2)


def require_writable_folders(paths):
    """Raises LadderError where a folder can't be written in which these files are to be made."""
    for folder in sorted({above(Path(path)) for path in paths}):
        try:
            with tempfile.TemporaryFile(dir=folder):
                pass
        except OSError as error:
            raise LadderError(
                f"{folder} can't be written: {error.strerror}. Allow writing, or work in a copy of the project."
            ) from None


def above(path):
    """The nearest folder above a path that is there."""
    return next(folder for folder in path.absolute().parents if folder.exists())


def read_json(path, *keys):
    """The object in a JSON file that the project has written, with the `keys`. Raises LadderError."""
    try:
        found = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise LadderError(f"{path} can't be read: {error.strerror}.") from None
    except (ValueError, RecursionError) as error:  # torn JSON, or bytes that are no text
        raise LadderError(f"{path} is not JSON ({error}). Delete it and make it again.") from None
    if not isinstance(found, dict) or not set(keys) <= set(found):
        raise LadderError(f"{path} isn't what is needed here: a JSON object with {', '.join(keys) or 'keys'}.")
    return found
