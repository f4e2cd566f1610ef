"""Running other programs, with output that doesn't depend on the user's language, and finding MPI's launcher."""

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

from ladder.errors import LadderError
from ladder.machine import processes, variables

ATTEMPT_TIMEOUT = 10  # seconds for a program that only reports a version or an option


def launcher(choice: str | None) -> str | None:
    """The command line of the launcher of MPI's ranks; None without one.

    `choice` is a command line, None, or `auto`: the mpiexec beside this Python, else the one on the PATH.
    """
    if choice != "auto":
        if choice is not None:
            split_command(choice, "The launcher of MPI's ranks, the key `mpi`,")
        return choice
    sibling = Path(sys.executable).with_name("mpiexec")
    path = str(sibling) if sibling.exists() else shutil.which("mpiexec")
    return path and shlex.quote(path)


def ladder_command() -> str:
    """The command that starts this `ladder` in the user's shell: `ladder` if the PATH finds it, else its path.

    Without a script `ladder` beside this Python, it is this Python's path with `-m ladder`.
    """
    script = Path(sys.executable).with_name("ladder")
    if not script.exists():
        return f"{shlex.quote(sys.executable)} -m ladder"
    on_path = shutil.which("ladder")
    if on_path and script.samefile(on_path):
        return "ladder"
    relative = os.path.relpath(script)
    return shlex.quote(str(script) if relative.startswith("..") else relative)


def split_command(text: str, name: str) -> list[str]:
    """Split a command line into words, at least one. Raises LadderError, whose message calls it `name`."""
    try:
        words = shlex.split(text)
    except ValueError as error:  # an unclosed quotation mark, a backslash at the end
        raise LadderError(f"{name} is {text!r}, which isn't a command line: {error}.") from None
    if not words:
        raise LadderError(f"{name} is empty: name a program.")
    return words


def run(*command: Path | str, timeout: int | None = None) -> subprocess.CompletedProcess:
    """Run a program and return its CompletedProcess, with untranslated output as text.

    The program inherits only the variables that a measurement inherits, so that a user's variables, such as CPATH or
    NVCC_APPEND_FLAGS, don't change a compiler's output. Raises OSError if the program can't be started, and
    subprocess.TimeoutExpired after `timeout` seconds.
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


def output(*command: str) -> str:
    """What a command prints on standard output; empty if there is no such program or it takes over 10 s."""
    return attempt(*command).stdout


def messages(*command: str) -> str:
    """What a command prints on standard error; empty if there is no such program or it takes over 10 s."""
    return attempt(*command).stderr


def attempt(*command: str) -> subprocess.CompletedProcess:
    """Run a program for up to ATTEMPT_TIMEOUT; if it can't start or takes longer, return status 1 without output."""
    try:
        return run(*command, timeout=ATTEMPT_TIMEOUT)
    except (OSError, subprocess.TimeoutExpired):
        return subprocess.CompletedProcess(command, 1, "", "")
