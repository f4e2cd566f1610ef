"""Locks by flock, which the kernel releases when the process that holds them ends, however it does."""

import fcntl
import os
import platform
import time
from contextlib import contextmanager
from pathlib import Path

from ladder.errors import LadderError

# In Snakemake's own folder, with the name of the machine where the run began.
OF_A_RUN = "ladder.lock"
# Held for as long as this process lives.
held = []


def opened(name):
    """The file of a lock that all runs of this user on this machine share."""
    # A job of a cluster has the variables of the machine that submitted it, whose folder its node needn't have.
    own = os.environ.get("XDG_RUNTIME_DIR", "")
    folder = own if os.access(own, os.W_OK) else "/tmp"
    return Path(folder, f"ladder-{name}-{os.getuid()}.lock").open("w", encoding="utf-8")


def opened_in(folder, name=".lock"):
    """The file of a lock in a folder, which is made. Raises LadderError where it can't be written."""
    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
        return Path(folder, name).open("a+", encoding="utf-8")
    except OSError as error:
        raise LadderError(
            f"{error.filename} can't be written: {error.strerror}. Allow writing, or work in a copy of the project."
        ) from None


@contextmanager
def alone_in(folder):
    """Hold a folder's lock; who needs it at the same time waits. Raises LadderError where it can't be written."""
    with opened_in(folder) as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


@contextmanager
def quiet_machine(shared=False):
    """Hold the machine's one lock for timing, against other runs too; `shared` with others that share the machine."""
    with opened("timing") as file:
        fcntl.flock(file, fcntl.LOCK_SH if shared else fcntl.LOCK_EX)
        yield


@contextmanager
def first_free(names):
    """Hold the first of these names, of cards for example, that nobody else holds; yield it. Waits for one."""
    while True:
        for name in names:
            with opened(name) as file:
                try:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    continue
                yield name
                return
        time.sleep(0.1)


def is_at_work(folder=".snakemake"):
    """Whether a run of this machine's lives in the working directory."""
    try:
        with Path(folder, OF_A_RUN).open(encoding="utf-8") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except BlockingIOError:
        return True
    return False


def clear_stale(folder=".snakemake"):
    """Become the working directory's one run; if no other lives, remove the locks that a killed Snakemake has left.

    Snakemake's own locks are files without an owner, so that after a SIGKILL it refuses to run until `--unlock`.
    Those of a run that began on another machine stay, since its lock may not show here. Raises LadderError in a folder
    that can't be written, where Snakemake can't even plan.
    """
    file = opened_in(folder, OF_A_RUN)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:  # another run holds it, or this file system knows no locks
        file.close()
        return
    held.append(file)
    file.seek(0)
    began, stale = file.read(), list((Path(folder) / "locks").glob("*.lock"))
    if stale and began not in ("", platform.node()):
        return
    for lock in stale:
        lock.unlink()
    file.truncate(0)
    file.write(platform.node())
    file.flush()
