"""The one run of a working directory: its lock, and those of Snakemake's that a killed run has left.

Snakemake's own locks are files without an owner, so that after a SIGKILL it refuses to run until `--unlock`. A run
holds a lock of the kernel's besides, which says whether it lives.
"""

import contextlib
import fcntl
import json
import time
from pathlib import Path

from ladder.errors import LadderError
from ladder.records import locks
from ladder.records.holders import clock, described, printable, sign, signature, signatures
from ladder.records.mounts import locks_reach

FOLDER = ".snakemake"
OF_A_RUN = "ladder.lock"
# Seconds in which a run tries to become its folder's: dry runs and `ladder status` look at the lock.
PATIENCE = 2
# The lock of this run, held for as long as this process lives.
held = []


def begin(folder=FOLDER):
    """Become the working directory's one run; remove the locks that a killed one has left.

    Raises LadderError where another run lives or may live, and in a folder that can't be written.
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
            "this one was restarted, and on this file system locks of other machines may not show. If it has ended, "
            "remove what it has locked by `snakemake --unlock`, then run again."
        )
    sign(file)
    held.append(file)


@contextlib.contextmanager
def locked(snakemakes):
    """Snakemake's lock of the working directory, which `snakemakes()` gives."""
    with contextlib.ExitStack() as lock:
        try:
            lock.enter_context(snakemakes())
        except FileNotFoundError:  # a dry run has removed its own while this one looked at it
            lock.enter_context(snakemakes())
        yield


def clear_stale(folder=FOLDER):
    """Remove the locks of Snakemake that a killed run has left, for who runs nothing: Snakemake locks dry runs out too.

    Raises LadderError in a folder that can't be written, where Snakemake can't even plan.
    """
    with locks.opened_in(folder, OF_A_RUN) as file:
        if is_free(file):
            clear(file, folder)


def is_at_work(folder=FOLDER):
    """Whether a run lives in the working directory, or may live on another machine."""
    try:
        with Path(folder, OF_A_RUN).open("rb", buffering=0) as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            return bool(left(folder)) and not has_ended(file, folder)
    except FileNotFoundError:
        return False
    except BlockingIOError:
        return True
    except OSError:  # this file system has no locks
        return bool(left(folder))


def is_free(file):
    """Whether nobody that shows here holds the lock of a run; it is held from now on. True where there are no locks."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        pass
    return True


def clear(file, folder):
    """Remove what a run that has ended has locked; whether nothing is left. The caller holds the lock of a run."""
    stale = left(folder)
    if stale and not has_ended(file, folder):
        return False
    for lock in stale:
        lock.unlink(missing_ok=True)
    return True


def drop_unsound(check, folder=FOLDER):
    """Remove what Snakemake has noted of its outputs and can't read, by its own `check`: it would end in a traceback.

    It takes an output without a note for one that is made by the rules of today.
    """
    notes = [] if is_at_work(folder) else Path(folder, "metadata").rglob("*")  # a run may be writing one
    for path in notes:
        if path.is_file():
            try:
                check(json.loads(path.read_text(encoding="utf-8")))
            except (ValueError, RecursionError):
                path.unlink(missing_ok=True)


def left(folder):
    """The files by which Snakemake locks the working directory."""
    return list((Path(folder) / "locks").glob("*.lock"))


def has_ended(file, folder):
    """Whether the last run has ended, as nobody that shows here holds its lock: where others would show, or on this
    machine, whatever its name. A restart ends all of its runs, and looks like another machine.
    """
    own = signature()
    began = [(one["boot"], one["boot"] or one["host"]) for one in signatures(file)[-1:]]
    return began == [(own["boot"], own["boot"] or own["host"])] or locks_reach(folder)


def last(file):
    """Who has begun the last run, in words."""
    found = signatures(file)
    if not found:
        return "nothing says who"
    return printable(f"{described(found[-1])} on {found[-1]['host']}, since {clock(found[-1]['since'])}")
