"""Other programs: what one prints, in the same words everywhere, and the launcher of MPI's ranks."""

import shlex
import shutil
import subprocess
import sys
from pathlib import Path

from ladder.errors import LadderError
from ladder.machine import processes, variables


def launcher(choice):
    """The launcher of MPI's ranks, as words of a shell: with `auto` the mpiexec beside this Python, else on the PATH.

    None without one.
    """
    if choice != "auto":
        if choice is not None:
            words(choice, "The launcher of MPI's ranks, the key `mpi`,")
        return choice
    beside = Path(sys.executable).with_name("mpiexec")
    found = str(beside) if beside.exists() else shutil.which("mpiexec")
    return found and shlex.quote(found)


def words(text, what):
    """The words of a command line, of which there is at least one. Raises LadderError, which says `what` it is."""
    try:
        found = shlex.split(text)
    except ValueError as error:  # an open quotation mark, a backslash at the end
        raise LadderError(f"{what} is {text!r}, which is no command line: {error}.") from None
    if not found:
        raise LadderError(f"{what} is empty: name a program.")
    return found


def run(*command, timeout=None):
    """A program that has ended, with what it printed as text: untranslated, whatever language the user reads.

    It inherits what a measurement does, so that no variable of the user's, such as CPATH or NVCC_APPEND_FLAGS, changes
    what a compiler makes.

    Raises OSError where it can't be started, and subprocess.TimeoutExpired.
    """
    return processes.run(
        command,
        env=variables.inherited(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        timeout=timeout,
    )


def output(*command):
    """The output of a command; empty where there is no such program or it takes over 10 s."""
    try:
        return run(*command, timeout=10).stdout
    except (OSError, subprocess.TimeoutExpired):
        return ""
