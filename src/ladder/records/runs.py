"""The lock of a working directory's only run, and stale locks of Snakemake's that a killed run has left.

Snakemake's own locks are files without an owner, so that after a SIGKILL it refuses to run until `--unlock`. A run
therefore also holds a kernel lock, which shows whether it is alive.
"""

import contextlib
import fcntl
import json
import time
from pathlib import Path

from ladder.errors import LadderError
from ladder.records import locks
from ladder.records.holders import clock, describe, printable, sign, signature, signatures
from ladder.records.mounts import locks_reach

FOLDER = ".snakemake"
OF_A_RUN = "ladder.lock"
# Seconds for which a run retries: dry runs and `ladder status` hold the lock briefly to look at it.
PATIENCE = 2
# The lock of this run, held until this process ends.
held = []


def begin(folder=FOLDER):
    """Become the working directory's only run, and remove the locks that a killed one has left.

    Raises LadderError if another run is alive or may be, and in a folder that can't be written.
    """
    if held:
        return
    file = locks.opened_in(folder, OF_A_RUN)
    deadline = time.monotonic() + PATIENCE
    while not is_free(file):
        if time.monotonic() > deadline:
            raise LadderError(f"Another run is at work in this folder: {last(file)}. Wait until it has ended.")
        time.sleep(0.05)
    if not clear(file, folder):
        raise LadderError(
            f"The last run in this folder may still be at work: {last(file)}. It began on another machine or before "
            "this one was restarted, and on this file system locks of other machines may be invisible. If it has "
            "ended, remove its locks by `snakemake --unlock`, then run again."
        )
    sign(file)
    held.append(file)


@contextlib.contextmanager
def locked(snakemakes):
    """Hold Snakemake's lock of the working directory, which `snakemakes()` returns."""
    with contextlib.ExitStack() as lock:
        try:
            lock.enter_context(snakemakes())
        except FileNotFoundError:  # a dry run removed its own lock meanwhile
            lock.enter_context(snakemakes())
        yield


def clear_stale(folder=FOLDER):
    """Remove Snakemake's locks that a killed run has left, for dry runs, which Snakemake would refuse too.

    Raises LadderError in a folder that can't be written, in which Snakemake can't even plan.
    """
    with locks.opened_in(folder, OF_A_RUN) as file:
        if is_free(file):
            clear(file, folder)


def is_at_work(folder=FOLDER):
    """Whether a run is alive in the working directory, or may be on another machine."""
    path = Path(folder, OF_A_RUN)
    try:
        if locks.is_odd(path):
            return bool(left(folder))
        with path.open("rb", buffering=0) as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            return bool(left(folder)) and not has_ended(file, folder)
    except FileNotFoundError:
        return False
    except BlockingIOError:
        return True
    except OSError:  # this file system has no locks
        return bool(left(folder))


def is_free(file):
    """Take the lock of a run; whether no visible process held it. True if the file system has no locks."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        pass
    return True


def clear(file, folder):
    """Remove the locks of a run that has ended; whether none is left. The caller holds the lock of a run.

    Raises LadderError if one can't be removed, such as a folder.
    """
    stale = left(folder)
    if stale and not has_ended(file, folder):
        return False
    for lock in stale:
        try:
            lock.unlink(missing_ok=True)
        except OSError as error:
            raise LadderError(f"{lock}, a stale lock, can't be deleted: {error.strerror}. Delete it.") from None
    return True


def drop_unsound(check, folder=FOLDER):
    """Remove Snakemake's metadata of outputs that its own `check` can't read and would end in a traceback.

    Snakemake assumes that an output without metadata was made by the current rules.
    """
    notes = [] if is_at_work(folder) else Path(folder, "metadata").rglob("*")  # a run may be writing one
    for path in notes:
        if path.is_file():
            try:
                check(json.loads(path.read_text(encoding="utf-8")))
            except (ValueError, RecursionError):
                path.unlink(missing_ok=True)


def left(folder):
    """The files with which Snakemake locks the working directory."""
    return list((Path(folder) / "locks").glob("*.lock"))


def has_ended(file, folder):
    """Whether the last run has ended, given that no visible process holds its lock.

    It has if it began on this machine since its last start, or if this file system shows the locks of other machines.
    """
    current = signature()
    last_start = [(entry["boot"], entry["boot"] or entry["host"]) for entry in signatures(file)[-1:]]
    return last_start == [(current["boot"], current["boot"] or current["host"])] or locks_reach(folder)


def last(file):
    """The process that began the last run, in words."""
    entries = signatures(file)
    if not entries:
        return "nothing says who"
    return printable(f"{describe(entries[-1])} on {entries[-1]['host']}, since {clock(entries[-1]['since'])}")
