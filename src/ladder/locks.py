"""Locks of the kernel's, which go with the process that holds them, however it ends."""

import fcntl
import os
from contextlib import contextmanager
from pathlib import Path

# Held for as long as this process lives.
held = []


@contextmanager
def quiet_machine():
    """Hold the machine's one place for timing, whoever else wants it: another run, or one that is just being killed."""
    folder = Path(os.environ.get("XDG_RUNTIME_DIR") or "/tmp")
    with (folder / f"ladder-timing-{os.getuid()}.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def clear_stale(folder=".snakemake"):
    """Become the working directory's one run; if no other lives, remove the locks that a killed Snakemake has left.

    Snakemake's own locks are files without an owner, so that after a SIGKILL it refuses to run until told to unlock.
    """
    Path(folder).mkdir(exist_ok=True)
    file = (Path(folder) / "ladder.lock").open("w")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        return
    held.append(file)
    for stale in (Path(folder) / "locks").glob("*.lock"):
        stale.unlink()
