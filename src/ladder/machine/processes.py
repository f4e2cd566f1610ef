"""Child processes that end with their parent and inherit the run's lock, so that others can't time while they work.

`python -m ladder.machine.processes MODULE ...` runs a Python module as a job of a run.
"""

import contextlib
import ctypes
import os
import runpy
import signal
import subprocess
import sys
import threading
from functools import partial

from ladder.errors import LadderError
from ladder.records import locks

LIBC = ctypes.CDLL(None) if sys.platform == "linux" else None
PR_SET_PDEATHSIG = 1
PARENT = "LADDER_PARENT"
run_parents = {}
LOST_MESSAGE = (
    b"ladder: the run that LADDER_PARENT names has ended or didn't start this process: unset it, then run again.\n"
)
AT_LIMIT = (
    "No more processes and threads can be started: raise the limit (`ulimit -u`, pids.max of the control group, "
    "`--pids-limit` of a container), or end others."
)


def die_with_parent(*parents):
    """Have Linux kill this process when its parent dies, so that a killed run leaves no process behind.

    `parents` are the numbers of processes of which one must be the parent, which may already have died. For Linux, the
    parent is the thread that started this process: that thread must live as long.
    """
    if LIBC:
        LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() not in parents:
            with contextlib.suppress(OSError):
                os.write(2, LOST_MESSAGE)
            os._exit(1)


def join_run():
    """Die with the run whose rule started this process, given by LADDER_PARENT; whether there is one.

    Exits with a sentence if the variable is wrong, which only a user can have set.
    """
    if parents := os.environ.pop(PARENT, ""):
        run_parents[PARENT] = parents  # needed if this process replaces itself by exec
        try:
            numbers = list(map(int, parents.split()))
        except ValueError:
            sys.exit(f"ladder: {PARENT}={parents!r} is no number of a process: unset it, only the workflow sets it.")
        die_with_parent(*numbers)
    return bool(parents)


def run(command, capture_output=False, check=False, timeout=None, **options):
    """`subprocess.run` of a command that dies with this process and inherits its locks.

    At the end of its time all that it has started dies too, which would otherwise keep the pipes of its output open.
    Raises LadderError at a limit of processes, which is no sign that the command's program is missing.
    """
    if capture_output:
        options |= {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    die = partial(die_with_parent, os.getpid())
    try:
        process = subprocess.Popen(command, preexec_fn=die, pass_fds=locks.descriptors, **options)
    except BlockingIOError:
        raise LadderError(AT_LIMIT) from None
    with process:
        try:
            output, errors = process.communicate(timeout=timeout)
        except BaseException:
            kill_tree(process.pid)
            raise
    done = subprocess.CompletedProcess(command, process.returncode, output, errors)
    if check:
        done.check_returncode()
    return done


def kill_tree(number):
    """Kill a process and all that it has started."""
    import psutil

    with contextlib.suppress(psutil.Error):
        process = psutil.Process(number)
        for each in (process, *process.children(recursive=True)):
            with contextlib.suppress(psutil.Error):
                each.kill()


def is_at_limit(error):
    """Whether an error means that the system lets this process start no other process, or no thread."""
    return isinstance(error, BlockingIOError) or "can't start new thread" in str(error)


def can_start_thread():
    """Whether the system lets this process start a thread now."""
    thread = threading.Thread(target=int)
    try:
        thread.start()
    except RuntimeError:
        return False
    thread.join()
    return True


def main():
    """Run a module as a job of a run."""
    join_run()
    del sys.argv[0]
    with locks.timing_lock(shared=True):
        runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
