"""The holders of locks: a process that holds a lock signs its file, so that a waiting process can report the holder."""

import json
import os
import platform
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from io import FileIO
from pathlib import Path
from typing import Any

# A signature's fields: process id, command, working folder, start of holding (Unix time), host name, boot id.
SIGNATURE_FIELDS = {"process": int, "does": str, "folder": str, "since": float, "host": str, "boot": str}
BOOT_ID_FILE = Path("/proc/sys/kernel/random/boot_id")
SIGNING_SECONDS = 0.05  # seconds after which a process that has just got a lock has signed it
MAX_LENGTH = 200  # characters of a command line in a signature


def sign(file: FileIO, append: bool = False) -> None:
    """Sign a lock's file as its holder; `append` keeps the signatures of others who share the lock.

    Errors such as a full disk are ignored: the lock is held without a signature too.
    """
    line = json.dumps(signature()).encode() + b"\n"
    with suppress(OSError):
        if not append:
            file.truncate(0)
        file.write(line)


def clear(file: FileIO) -> None:
    """Remove all signatures from a lock's file when its holder releases it; errors are ignored as in `sign`."""
    with suppress(OSError):
        file.truncate(0)


def signature() -> dict[str, Any]:
    """The signature of this process."""
    return {
        "process": os.getpid(),
        "does": command(sys.argv),
        "folder": working_folder(),
        "since": time.time(),
        "host": platform.node(),
        "boot": boot_id(),
    }


def command(arguments: Sequence[str]) -> str:
    """The words of a command line up to its first option."""
    program = Path(arguments[0] or "python")
    words = [program.parent.name if program.stem == "__main__" else program.stem]
    for word in arguments[1:]:
        if word.startswith("-"):
            break
        words.append(word)
    text = " ".join(words)
    return text if len(text) <= MAX_LENGTH else f"{text[:MAX_LENGTH]} ..."


def working_folder() -> str:
    """The working directory, which may have been deleted."""
    try:
        return str(Path.cwd())
    except OSError:
        return "a deleted folder"


def boot_id() -> str:
    """The kernel's boot id, the same in containers; empty if it is unavailable."""
    try:
        return BOOT_ID_FILE.read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        return ""


def signatures(file: FileIO) -> list[dict[str, Any]]:
    """The signatures in a lock's file, in order; incomplete and other lines are skipped."""
    entries = []
    with suppress(OSError):
        os.lseek(file.fileno(), 0, os.SEEK_SET)
        for line in file.read().splitlines():
            with suppress(ValueError):
                entry = json.loads(line)
                if isinstance(entry, dict) and all(
                    isinstance(entry.get(key), kind) for key, kind in SIGNATURE_FIELDS.items()
                ):
                    entries.append(entry)
    return entries


def report_waiting(files: Sequence[FileIO], resource: Path | str) -> None:
    """Report on standard error, in one line, who holds the lock of these files, which this process waits for.

    `resource` is what the lock protects, in words. Any of the files may have the holder's signature: a holder with
    another /tmp has signed only the other file.
    """
    entries = living_holders(files)
    if not entries:  # the next holder may be about to sign
        time.sleep(SIGNING_SECONDS)
        entries = living_holders(files)
    if not entries:  # a child of the last process that signed still holds the lock
        entries = [entry for file in files for entry in signatures(file)][-1:]
    holder = f"another process, which holds {resource}"
    if entries:
        others = f" and {len(entries) - 1} more, which have" if entries[1:] else ", which has"
        holder = f"{describe(entries[0])}{others} held {resource} since {time_of_day(entries[0]['since'])}"
    print(f"ladder: waits for {printable(holder)}.", file=sys.stderr, flush=True)


def living_holders(files: Sequence[FileIO]) -> list[dict[str, Any]]:
    """The signatures of processes that are alive, each once: of those that shared the lock, some may have ended."""
    by_process = {entry["process"]: entry for file in files for entry in signatures(file)}
    return [entry for entry in by_process.values() if is_alive(entry["process"])]


def describe(entry: Mapping[str, Any]) -> str:
    """A signature in words."""
    return f"`{entry['does']}`, process {entry['process']} in {entry['folder']}"


def time_of_day(seconds: float) -> str:
    """A Unix time as the time of day, with the date unless that is today."""
    try:
        local = time.localtime(seconds)
    except (ValueError, OverflowError, OSError):  # a signature may hold any number
        return "an unknown time"
    return time.strftime("%H:%M:%S" if local[:3] == time.localtime()[:3] else "%Y-%m-%d %H:%M:%S", local)


def printable(text: str) -> str:
    """A text as one line of printable characters."""
    return "".join(character if character.isprintable() else "?" for character in text)


def is_alive(process: int) -> bool:
    """Whether a process with this id is alive on this machine."""
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        pass  # a process of another user
    return True
