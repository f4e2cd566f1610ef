"""The lock that allows one run per working directory, and the removal of Snakemake's locks after a run was killed.

Snakemake's locks are files that outlive a killed run, after which Snakemake refuses to start until `--unlock`. A run
therefore also holds a lock of the kernel's, which shows whether it is alive.
"""

import contextlib
import fcntl
import json
import time
from collections.abc import Callable, Iterator
from io import FileIO
from pathlib import Path

from ladder.errors import LadderError
from ladder.records import locks
from ladder.records.holders import describe, printable, sign, signature, signatures, time_of_day
from ladder.records.mounts import locks_are_shared

FOLDER = ".snakemake"
LOCK_NAME = "ladder.lock"
# Seconds for which a run retries to take the lock, which dry runs and `ladder status` hold briefly to test it.
LOCK_TIMEOUT = 2
# The open file of this run's lock, which keeps the lock until this process ends.
held_files: list[FileIO] = []


def begin(folder: Path | str = FOLDER) -> None:
    """Become the working directory's only run, and remove Snakemake's locks of a killed run.

    Raises LadderError if another run is or may be alive, or if the folder can't be written.
    """
    if held_files:
        return
    file = locks.open_in(folder, LOCK_NAME)
    deadline = time.monotonic() + LOCK_TIMEOUT
    while not try_lock(file):
        if time.monotonic() > deadline:
            raise LadderError(
                f"Another run is at work in this folder: {describe_last_run(file)}. Wait until it has ended."
            )
        time.sleep(0.05)
    if not remove_locks(file, folder):
        raise LadderError(
            f"The last run in this folder may still be at work: {describe_last_run(file)}. It began on another machine "
            "or before this one was restarted, and on this file system locks of other machines may be invisible. If it "
            "has ended, remove its locks by `snakemake --unlock`, then run again."
        )
    sign(file)
    held_files.append(file)


@contextlib.contextmanager
def hold_snakemake_lock(make_lock: Callable) -> Iterator[None]:
    """Hold Snakemake's lock of the working directory, the context manager that `make_lock()` returns."""
    with contextlib.ExitStack() as stack:
        try:
            stack.enter_context(make_lock())
        except FileNotFoundError:  # a dry run removed its lock while Snakemake read it
            stack.enter_context(make_lock())
        yield


def remove_stale_locks(folder: Path | str = FOLDER) -> None:
    """Remove Snakemake's locks of a killed run before a dry run, which Snakemake would refuse too.

    Raises LadderError if the folder can't be written; then Snakemake can't even plan.
    """
    with locks.open_in(folder, LOCK_NAME) as file:
        if try_lock(file):
            remove_locks(file, folder)


def may_be_running(folder: Path | str = FOLDER) -> bool:
    """Whether a run is alive in the working directory, or may be alive on another machine."""
    path = Path(folder, LOCK_NAME)
    try:
        if locks.is_no_plain_file(path):
            return bool(snakemake_locks(folder))
        with path.open("rb", buffering=0) as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            return bool(snakemake_locks(folder)) and not has_ended(file, folder)
    except FileNotFoundError:
        return False
    except BlockingIOError:
        return True
    except OSError:  # this file system has no locks
        return bool(snakemake_locks(folder))


def try_lock(file: FileIO) -> bool:
    """Take the lock of a run; return False if another process holds it, True if the file system has no locks."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        pass
    return True


def remove_locks(file: FileIO, folder: Path | str) -> bool:
    """Remove Snakemake's locks if the last run has ended; return whether none remain. The caller holds the run's lock.

    Raises LadderError if one can't be removed, such as a folder.
    """
    stale_locks = snakemake_locks(folder)
    if stale_locks and not has_ended(file, folder):
        return False
    for lock in stale_locks:
        try:
            lock.unlink(missing_ok=True)
        except OSError as error:
            raise LadderError(f"{lock}, a stale lock, can't be deleted: {error.strerror}. Delete it.") from None
    return True


def remove_invalid_metadata(check: Callable, folder: Path | str = FOLDER) -> None:
    """Remove metadata of outputs that Snakemake's `check` rejects and that would end Snakemake with a traceback.

    Snakemake assumes that an output without metadata was made by the current rules. A live run may be writing some.
    """
    paths = [] if may_be_running(folder) else Path(folder, "metadata").rglob("*")
    for path in paths:
        if path.is_file():
            try:
                check(json.loads(path.read_text(encoding="utf-8")))
            except (ValueError, RecursionError):
                path.unlink(missing_ok=True)


def snakemake_locks(folder: Path | str) -> list[Path]:
    """The files with which Snakemake locks the working directory."""
    return list((Path(folder) / "locks").glob("*.lock"))


def has_ended(file: FileIO, folder: Path | str) -> bool:
    """Whether the last run has ended, given that no visible process holds its lock.

    It has if it began on this machine since its last boot, or if this file system shows the locks of other machines.
    """
    current = signature()
    # Boots are compared by their ids or, if they have none, by host names.
    last_boot = [(entry["boot"], entry["boot"] or entry["host"]) for entry in signatures(file)[-1:]]
    return last_boot == [(current["boot"], current["boot"] or current["host"])] or locks_are_shared(folder)


def describe_last_run(file: FileIO) -> str:
    """The process that began the last run, in words."""
    entries = signatures(file)
    if not entries:
        return "its process is unknown"
    return printable(f"{describe(entries[-1])} on {entries[-1]['host']}, since {time_of_day(entries[-1]['since'])}")
