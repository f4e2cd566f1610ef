"""Simulated GPUs for tests of what must know when work on a GPU is done: nothing is computed, but clocks advance.

Work in a stream begins when the host has submitted it and the previous work of the stream is done. Every thread has a
clock, which advances only while the thread waits. As in CUDA, events can't be compared before they are over, nor across
GPUs.
"""

import threading
from types import SimpleNamespace


class ThreadState(threading.local):
    """The state of a thread: its clock in seconds, its GPU, its stream."""

    def __init__(self):
        self.now, self.card, self.stream = 0.0, 0, None


class Card:
    """The simulated GPUs of a process, as `cupy` and `time`; `timed` lists the events created with timing."""

    def __init__(self):
        self.thread, self.timed, self.null = ThreadState(), [], {}
        self.cuda = SimpleNamespace(
            Device=lambda number: Device(self, number),
            Stream=lambda non_blocking: Stream(self),
            Event=lambda disable_timing=False: Event(self, disable_timing),
            get_elapsed_time=elapsed,
        )

    def perf_counter(self):
        return self.thread.now

    def current(self):
        return self.thread.stream or self.null.setdefault(self.thread.card, Stream(self))


class Device:
    def __init__(self, process, number):
        self.process, self.id, self.previous = process, number, []

    def __enter__(self):
        self.previous.append(self.process.thread.card)
        self.process.thread.card = self.id

    def __exit__(self, *error):
        self.process.thread.card = self.previous.pop()


class Stream:
    def __init__(self, process):
        self.process, self.card, self.free = process, process.thread.card, 0.0

    def __enter__(self):
        self.process.thread.stream = self

    def __exit__(self, *error):
        self.process.thread.stream = None

    def do(self, seconds):
        self.free = max(self.free, self.process.thread.now) + seconds

    def wait_event(self, event):
        self.free = max(self.free, event.at or 0.0)

    def synchronize(self):
        self.process.thread.now = max(self.process.thread.now, self.free)


class Event:
    def __init__(self, process, disable_timing):
        self.process, self.card, self.at = process, process.thread.card, None
        if not disable_timing:
            process.timed.append(self)

    def record(self, stream=None):
        stream = stream or self.process.current()
        assert self.card == stream.card == self.process.thread.card, "CUDA refuses an event of another card"
        stream.do(0.0)
        self.at = stream.free

    def synchronize(self):
        self.process.thread.now = max(self.process.thread.now, self.at)


def elapsed(start, end):
    assert start.card == end.card, "CUDA can't compare events of two GPUs"
    assert max(start.at, end.at) <= end.process.thread.now, "cudaErrorNotReady"
    return 1e3 * (end.at - start.at)
