"""Child processes that die with their parent and inherit its locks, so that nothing else is timed while they run.

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
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from ladder.errors import LadderError
from ladder.records import locks

LIBC = ctypes.CDLL(None) if sys.platform == "linux" else None
PR_SET_PDEATHSIG = 1  # of Linux's <sys/prctl.h>
PARENT_VARIABLE = "LADDER_PARENT"  # the variable by which a run tells its jobs the ids of its processes
job_variables: dict[str, str] = {}  # {PARENT_VARIABLE: its value} in a job of a run, else empty
PARENT_LOST_MESSAGE = (
    b"ladder: the process that started this one has ended, or LADDER_PARENT names another: unset it, then run again.\n"
)
LIMIT_MESSAGE = (
    "No more processes and threads can be started: raise the limit (`ulimit -u`, pids.max of the control group, "
    "`--pids-limit` of a container), or end others."
)


def die_with_parent(*parents: int) -> None:
    """Have Linux kill this process when its parent dies, so that a killed run leaves no process behind.

    One of the process ids `parents` must be the parent's or, with a program such as a container's runtime between them,
    that of an older ancestor; otherwise the run has died already, and the process exits.
    Linux takes the thread that started this process for its parent, so that thread must not end earlier.
    """
    if LIBC:
        LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if not any(pid in parents for pid in ancestors()):
            with contextlib.suppress(OSError):
                os.write(2, PARENT_LOST_MESSAGE)
            os._exit(1)


def ancestors() -> Iterator[int]:
    """The process ids of the parent, of its parent and so on, as far as Linux shows them."""
    pid = os.getppid()
    while pid:
        yield pid
        try:
            stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
        except OSError:
            return
        pid = int(stat.rpartition(")")[2].split()[1])  # after the name, which may have blanks and brackets


def join_run() -> bool:
    """Make this process die with the run that started it, according to LADDER_PARENT; return False without a run.

    Exits with a message if the variable is invalid, which only a user can have caused.
    """
    if parents := os.environ.pop(PARENT_VARIABLE, ""):
        job_variables[PARENT_VARIABLE] = parents  # harness.environment.enter passes it on to the restarted program
        try:
            pids = list(map(int, parents.split()))
        except ValueError:
            sys.exit(
                f"ladder: {PARENT_VARIABLE}={parents!r} isn't a list of process ids: unset it, only the workflow sets "
                "it."
            )
        die_with_parent(*pids)
    return bool(parents)


def run(
    command: Sequence[Path | str],
    capture_output: bool = False,
    check: bool = False,
    timeout: float | None = None,
    **options: Any,
) -> subprocess.CompletedProcess:
    """Like `subprocess.run`, for a command that dies with this process and inherits its locks.

    After `timeout` seconds its child processes are killed too, since they could keep the pipes of its output open.
    Raises LadderError, not OSError, if the limit of processes is reached: callers take OSError for a missing program.
    """
    if capture_output:
        options |= {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    die = partial(die_with_parent, os.getpid())
    try:
        process = subprocess.Popen(command, preexec_fn=die, pass_fds=tuple(locks.descriptors), **options)
    except BlockingIOError:
        raise LadderError(LIMIT_MESSAGE) from None
    with process:
        try:
            output, errors = process.communicate(timeout=timeout)
        except BaseException:
            kill_tree(process.pid)
            raise
    completed = subprocess.CompletedProcess(command, process.returncode, output, errors)
    if check:
        completed.check_returncode()
    return completed


def kill_tree(pid: int) -> None:
    """Kill a process and its children, at any depth."""
    import psutil

    with contextlib.suppress(psutil.Error):
        process = psutil.Process(pid)
        for member in (process, *process.children(recursive=True)):
            with contextlib.suppress(psutil.Error):
                member.kill()


def is_at_limit(error: Exception) -> bool:
    """Whether an error means that the limit of processes and threads is reached."""
    return isinstance(error, BlockingIOError) or "can't start new thread" in str(error)


def can_start_thread() -> bool:
    """Whether the system lets this process start a thread now."""
    thread = threading.Thread(target=int)  # `int()` does nothing
    try:
        thread.start()
    except RuntimeError:
        return False
    thread.join()
    return True


def main() -> None:
    """Run a module as a job of a run."""
    join_run()
    del sys.argv[0]
    with locks.timing_lock(shared=True):
        runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
