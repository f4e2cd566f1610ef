"""Other programs: what one prints, and what starts ranks of MPI."""

import shutil
import subprocess
import sys
from pathlib import Path


def launcher(choice):
    """What starts ranks of MPI: with `auto` the mpiexec beside this Python, else of the PATH; None without any."""
    if choice != "auto":
        return choice
    beside = Path(sys.executable).with_name("mpiexec")
    return str(beside) if beside.exists() else shutil.which("mpiexec")


def output(*command):
    """What a command prints; nothing where it isn't there or fails."""
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=10).stdout
    except (OSError, subprocess.TimeoutExpired):
        return ""
