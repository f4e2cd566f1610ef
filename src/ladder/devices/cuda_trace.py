"""When the work in a card's streams began and ended: CUDA events around it, in a run that isn't timed."""

import time

from ladder.devices.card import load_cupy


class Recorder:
    """Records work on the card that is current, idle before: the rows of a trace (`harness/traces.py`).

    Its times count from `began` by the host's clock, `time.perf_counter()`; by default from now. Cards can't compare
    their events, so each has a recorder of its own, and `prefix` goes before its lanes.
    """

    def __init__(self, began=None, prefix=""):
        self.event, self.elapsed = load_cupy().cuda.Event, load_cupy().cuda.get_elapsed_time
        self.origin = self.recorded(None)
        self.origin.synchronize()  # or work in other streams may begin before it, where another process has the card
        now = time.perf_counter()
        self.began = now if began is None else began
        self.late, self.prefix = now - self.began, prefix
        self.events, self.on_host = [], []

    def recorded(self, stream):
        """An event in a stream, or in the current one where that is None."""
        event = self.event()
        event.record(stream)
        return event

    def around(self, lane, name, stream, work):
        """Do `work`, which puts something into a stream; its row is from the beginning to the end of that."""
        start = self.recorded(stream)
        work()
        self.events.append((self.prefix + lane, name, start, self.recorded(stream)))

    def around_host(self, lane, name, work):
        """Do work of the host itself, with a row by its clock."""
        start = time.perf_counter()
        work()
        self.on_host.append((self.prefix + lane, name, start - self.began, time.perf_counter() - self.began))

    def rows(self):
        """The rows of all that was recorded, once the card has done it: lane, name, start and end in seconds."""
        for *_, end in self.events:
            end.synchronize()
        return [(lane, name, *map(self.seconds, ends)) for lane, name, *ends in self.events] + self.on_host

    def seconds(self, event):
        """When an event was."""
        return self.late + self.elapsed(self.origin, event) * 1e-3
