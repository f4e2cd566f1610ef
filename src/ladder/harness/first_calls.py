"""A message, once for each case, if a worker takes long in its set-up or its first call, and perhaps hangs."""

import sys
import threading

from ladder.records.case import Case

PATIENCE = 10.0  # seconds
reported_cases: set[Case] = set()  # the cases with a message so far


class Watch:
    """A timer that prints the message if a case hasn't ended its first call after PATIENCE seconds."""

    def __init__(self, case):
        self.case = case
        self.timer = None

    def start(self):
        """Start the timer, unless the message was printed before."""
        if self.case not in reported_cases:
            self.timer = threading.Timer(PATIENCE, self.report)
            self.timer.daemon = True
            self.timer.start()

    def stop(self):
        """Stop the timer."""
        if self.timer:
            self.timer.cancel()

    def report(self):
        """Print that the case is still in its set-up or first call."""
        reported_cases.add(self.case)
        name = f"{self.case.workload}/{self.case.variant}"
        sentence = f"{name} is still in its set-up or first call after {PATIENCE:g} s: it compiles, computes or hangs."
        print(f"{sentence} Ctrl-C ends it.", file=sys.stderr, flush=True)
