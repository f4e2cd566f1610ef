"""Other programs: their output, independent of the user's language, and the launcher of MPI's ranks."""

import shlex
import shutil
import subprocess
import sys
from pathlib import Path

from ladder.errors import LadderError
from ladder.machine import processes, variables


def launcher(choice):
    """The command line of the launcher of MPI's ranks; None without one.

    `auto` selects the mpiexec beside this Python, else the one on the PATH.
    """
    if choice != "auto":
        if choice is not None:
            split_command(choice, "The launcher of MPI's ranks, the key `mpi`,")
        return choice
    beside = Path(sys.executable).with_name("mpiexec")
    path = str(beside) if beside.exists() else shutil.which("mpiexec")
    return path and shlex.quote(path)


def split_command(text, what):
    """The words of a command line, at least one. Raises LadderError, which calls the command line `what`."""
    try:
        words = shlex.split(text)
    except ValueError as error:  # an unclosed quotation mark, a backslash at the end
        raise LadderError(f"{what} is {text!r}, which is no command line: {error}.") from None
    if not words:
        raise LadderError(f"{what} is empty: name a program.")
    return words


def run(*command, timeout=None):
    """Run a program; its CompletedProcess, with untranslated output as text.

    It inherits only the variables that a measurement inherits, so that no variable of the user's, such as CPATH or
    NVCC_APPEND_FLAGS, changes a compiler's output. Raises OSError if it can't be started, and
    subprocess.TimeoutExpired.
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
    """The output of a command; empty if there is no such program or it takes over 10 s."""
    return attempt(*command).stdout


def messages(*command):
    """What a command prints as errors; empty if there is no such program or it takes over 10 s."""
    return attempt(*command).stderr


def attempt(*command):
    """A program's CompletedProcess, without output if it can't be started or takes over 10 s."""
    try:
        return run(*command, timeout=10)
    except (OSError, subprocess.TimeoutExpired):
        return subprocess.CompletedProcess(command, 1, "", "")
