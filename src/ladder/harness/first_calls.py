"""A sentence, once for each case, about a worker that is long in its set-up or its first call, and perhaps hangs."""

import sys
import threading

from ladder.records.case import Case

PATIENCE = 10.0  # seconds
told: set[Case] = set()  # the cases that the sentence was about


class Watch:
    """A timer that says so if a case isn't through its first call after PATIENCE seconds."""

    def __init__(self, case):
        self.case = case
        self.timer = None

    def start(self):
        """Begin to wait, unless it was said before."""
        if self.case not in told:
            self.timer = threading.Timer(PATIENCE, self.tell)
            self.timer.daemon = True
            self.timer.start()

    def stop(self):
        """Stop waiting."""
        if self.timer:
            self.timer.cancel()

    def tell(self):
        """Say that the case is still in its first call."""
        told.add(self.case)
        name = f"{self.case.workload}/{self.case.variant}"
        sentence = f"{name} is still in its set-up or first call after {PATIENCE:g} s: it compiles, computes or hangs."
        print(f"{sentence} Ctrl-C ends it.", file=sys.stderr, flush=True)
