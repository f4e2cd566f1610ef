"""Simulated cards, for what has to know when their work is done: nothing works, but clocks go on.

Work in a stream begins once the host has come to it and what is before it in the stream is done. Every thread has a
clock of its own, which stands still but where it waits. As in CUDA, events of two cards can't be compared, and none
that isn't over.
"""

import threading
from types import SimpleNamespace


class Here(threading.local):
    """Where a thread is: in seconds, on which card, in which stream."""

    def __init__(self):
        self.now, self.card, self.stream = 0.0, 0, None


class Card:
    """What a process has of simulated cards; `timed` are the events made that have a time."""

    def __init__(self):
        self.here, self.timed, self.null = Here(), [], {}
        self.cuda = SimpleNamespace(
            Device=lambda number: Device(self, number),
            Stream=lambda non_blocking: Stream(self),
            Event=lambda disable_timing=False: Event(self, disable_timing),
            get_elapsed_time=elapsed,
        )

    def perf_counter(self):
        return self.here.now

    def current(self):
        return self.here.stream or self.null.setdefault(self.here.card, Stream(self))


class Device:
    def __init__(self, all, number):
        self.all, self.id, self.before = all, number, []

    def __enter__(self):
        self.before.append(self.all.here.card)
        self.all.here.card = self.id

    def __exit__(self, *error):
        self.all.here.card = self.before.pop()


class Stream:
    def __init__(self, all):
        self.all, self.card, self.free = all, all.here.card, 0.0

    def __enter__(self):
        self.all.here.stream = self

    def __exit__(self, *error):
        self.all.here.stream = None

    def do(self, seconds):
        self.free = max(self.free, self.all.here.now) + seconds

    def wait_event(self, event):
        self.free = max(self.free, event.at or 0.0)

    def synchronize(self):
        self.all.here.now = max(self.all.here.now, self.free)


class Event:
    def __init__(self, all, disable_timing):
        self.all, self.card, self.at = all, all.here.card, None
        if not disable_timing:
            all.timed.append(self)

    def record(self, stream=None):
        stream = stream or self.all.current()
        assert self.card == stream.card == self.all.here.card, "CUDA refuses an event of another card"
        stream.do(0.0)
        self.at = stream.free

    def synchronize(self):
        self.all.here.now = max(self.all.here.now, self.at)


def elapsed(start, end):
    assert start.card == end.card, "CUDA can't compare events of two cards"
    assert max(start.at, end.at) <= end.all.here.now, "cudaErrorNotReady"
    return 1e3 * (end.at - start.at)
