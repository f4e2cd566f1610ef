"""Processes end with whoever started them, and what a run has started keeps others from timing for as long as it works.

`python -m ladder.machine.processes MODULE ...` runs a module of Python's as a job of a run.
"""

import ctypes
import os
import runpy
import signal
import subprocess
import sys
from functools import partial

from ladder.records import locks

LIBRARY = ctypes.CDLL(None) if sys.platform == "linux" else None
PR_SET_PDEATHSIG = 1
PARENT = "LADDER_PARENT"
joined = {}


def die_with_parent(*parents):
    """Ask Linux to end this process when its parent dies, so that a killed run leaves no process behind.

    `parents` are the numbers of processes of which one must be the parent: it may have died before this process could
    ask. Linux means the thread that started this process: such a thread must live as long.
    """
    if LIBRARY:
        LIBRARY.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() not in parents:
            os._exit(1)


def join_run():
    """Die with the run whose rule has started this process, as LADDER_PARENT says; whether one has."""
    if parents := os.environ.pop(PARENT, ""):
        joined[PARENT] = parents  # for this process, should it start another program in its place
        die_with_parent(*map(int, parents.split()))
    return bool(parents)


def run(command, **options):
    """What `subprocess.run` gives for a command that dies with this process, and keeps others from timing as well."""
    die = partial(die_with_parent, os.getpid())
    return subprocess.run(command, preexec_fn=die, pass_fds=locks.descriptors, **options)


def main():
    """Run a module as a job of a run."""
    join_run()
    del sys.argv[0]
    with locks.quiet_machine(shared=True):
        runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
