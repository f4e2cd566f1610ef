"""Traces of the work in a GPU's streams, by CUDA events around it in an untimed run."""

import time

from ladder.cuda.gpus import load_cupy


class Recorder:
    """Records work on the current GPU, idle before, as the rows of a trace (`harness/traces.py`).

    Times count from `began` on the host's clock, `time.perf_counter()`, by default from now. Events of different GPUs
    can't be compared, so each GPU has its own recorder, whose lanes begin with `prefix`.
    """

    def __init__(self, began=None, prefix=""):
        self.event, self.elapsed = load_cupy().cuda.Event, load_cupy().cuda.get_elapsed_time
        self.origin = self.recorded(None)
        self.origin.synchronize()  # or work in other streams may begin before it, if another process uses the GPU
        now = time.perf_counter()
        self.began = now if began is None else began
        self.late, self.prefix = now - self.began, prefix
        self.events, self.on_host = [], []

    def recorded(self, stream):
        """Record an event in a stream, by default (None) the current one."""
        event = self.event()
        event.record(stream)
        return event

    def around(self, lane, name, stream, work):
        """Call `work`, which puts work into a stream, and record the start and end of that."""
        start = self.recorded(stream)
        work()
        self.events.append((self.prefix + lane, name, start, self.recorded(stream)))

    def around_host(self, lane, name, work):
        """Call `work` of the host itself, and record it by the host's clock."""
        start = time.perf_counter()
        work()
        self.on_host.append((self.prefix + lane, name, start - self.began, time.perf_counter() - self.began))

    def rows(self):
        """The rows of all recorded work, after it has ended: lane, name, start and end in seconds."""
        for *_, end in self.events:
            end.synchronize()
        return [(lane, name, *map(self.seconds, ends)) for lane, name, *ends in self.events] + self.on_host

    def seconds(self, event):
        """The time of an event."""
        return self.late + self.elapsed(self.origin, event) * 1e-3
