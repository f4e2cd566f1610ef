"""What ended a worker: its traceback goes to a log, and a sentence names the line of the variant."""

import os
import re
import signal
import sys
import traceback
from pathlib import Path

from ladder.catalogue import locations, traits
from ladder.machine import processes
from ladder.records.files import write_atomically

# Where tracebacks are, outside of a run; its jobs have logs of their own.
FOLDER = Path("results/logs/workers")
# The maximum characters of a traceback: longer answers of ranks that fail at once could mix in their common pipe.
MAX_LENGTH = 2500
# What may have killed a worker, by its exit status. OpenBLAS raises SIGINT if it can't start a thread.
HINTS = {
    -signal.SIGKILL: " (out of memory?)",
    -signal.SIGINT: " (too few processes and threads allowed?)",
    -signal.SIGSEGV: " (access outside of an array?)",
}
# A call in the report of Python's `faulthandler`.
CALL_PATTERN = re.compile(r'File "(?P<path>[^"]+)", line (?P<line>\d+)')


class FaultReport:
    """The file in memory to which a worker's `faulthandler` writes the calls during which a signal ended it."""

    def __init__(self, case):
        self.case = case
        self.file = os.memfd_create("ladder-fault")

    @property
    def path(self):
        """The path for the worker."""
        return f"/proc/{os.getpid()}/fd/{self.file}"

    def sentences(self, code):
        """The line of the variant in which the signal came, if known, and what to do; `code` is the exit status."""
        text = os.pread(self.file, MAX_LENGTH, 0).decode(errors="replace")
        folders = {*locations.folders(self.case.workload)}
        calls = ((Path(call["path"]), call["line"]) for call in CALL_PATTERN.finditer(text))
        place = next((f"It was in line {line} of {path}." for path, line in calls if path.parent in folders), "")
        is_numba = code == -signal.SIGSEGV and traits.runtime(self.case) == "numba"
        advice = "Numba checks indices if the variant has ENVIRONMENT = {'NUMBA_BOUNDSCHECK': '1'}." * is_numba
        return " ".join(filter(None, [place, advice, log_traceback(self.case, text) if text else ""]))

    def close(self):
        """Delete the report."""
        os.close(self.file)


def log_traceback(case, text):
    """Write the traceback of a case's worker to a log; the sentence that says where it is, empty in a run's job."""
    if processes.job_variables:  # the job's standard error is its log
        print(text, file=sys.stderr)
        return ""
    path = FOLDER / case.workload / f"{case.variant}.log"
    try:
        write_atomically(path, text)
    except OSError:
        return ""
    return f"The traceback is in {path}."


def traceback_of(error, path):
    """The end of an error's traceback, from the first call in the folder of the file `path` on (None: all calls)."""
    frames = list(traceback.walk_tb(error.__traceback__))
    inner = [
        number
        for number, (frame, _) in enumerate(frames)
        if path and Path(frame.f_code.co_filename).parent == path.parent
    ]
    calls = traceback.StackSummary.extract(iter(frames[inner[0] if inner else 0 :]))
    lines = ["Traceback (most recent call last):\n", *calls.format(), *traceback.format_exception_only(error)]
    return "".join(lines)[-MAX_LENGTH:]
