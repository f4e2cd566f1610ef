"""Other programs: the output of one, and the launcher of MPI's ranks."""

import shutil
import subprocess
import sys
from pathlib import Path


def launcher(choice):
    """The launcher of MPI's ranks: with `auto` the mpiexec beside this Python, else on the PATH; None without one."""
    if choice != "auto":
        return choice
    beside = Path(sys.executable).with_name("mpiexec")
    return str(beside) if beside.exists() else shutil.which("mpiexec")


def output(*command):
    """The output of a command; empty where there is no such program or it takes over 10 s."""
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=10).stdout
    except (OSError, subprocess.TimeoutExpired):
        return ""
