"""Simulated GPUs for tests of code that must know when work on a GPU ends: nothing is computed, but clocks advance.

Work in a stream begins when the host has submitted it and the previous work of the stream is done. Every thread has a
clock, which advances only while the thread waits. As in CUDA, events can't be compared before they are over, nor across
GPUs.
"""

import threading
from types import SimpleNamespace


class ThreadState(threading.local):
    """The state of a thread: its clock in seconds, its GPU, its stream."""

    def __init__(self):
        self.now, self.gpu, self.stream = 0.0, 0, None


class SimulatedGpus:
    """The simulated GPUs of a process, as `cupy` and `time`; `timed_events` lists the events created with timing."""

    def __init__(self):
        self.thread, self.timed_events, self.default_streams = ThreadState(), [], {}
        self.cuda = SimpleNamespace(
            Device=lambda number: Device(self, number),
            Stream=lambda non_blocking: Stream(self),
            Event=lambda disable_timing=False: Event(self, disable_timing),
            get_elapsed_time=elapsed_milliseconds,
        )

    def perf_counter(self):
        return self.thread.now

    def current_stream(self):
        """The stream of the thread's innermost `with`, or the default one of its GPU."""
        return self.thread.stream or self.default_streams.setdefault(self.thread.gpu, Stream(self))


class Device:
    """A GPU, by its number, of the SimulatedGpus of a process; Stream and Event take these, too."""

    def __init__(self, process, number):
        self.process, self.id, self.previous_gpus = process, number, []

    def __enter__(self):
        self.previous_gpus.append(self.process.thread.gpu)
        self.process.thread.gpu = self.id

    def __exit__(self, *error):
        self.process.thread.gpu = self.previous_gpus.pop()


class Stream:
    def __init__(self, process):
        self.process, self.gpu, self.idle_from = process, process.thread.gpu, 0.0

    def __enter__(self):
        self.process.thread.stream = self

    def __exit__(self, *error):
        self.process.thread.stream = None

    def enqueue(self, seconds):
        self.idle_from = max(self.idle_from, self.process.thread.now) + seconds

    def wait_event(self, event):
        self.idle_from = max(self.idle_from, event.time or 0.0)

    def synchronize(self):
        self.process.thread.now = max(self.process.thread.now, self.idle_from)


class Event:
    def __init__(self, process, disable_timing):
        self.process, self.gpu, self.time = process, process.thread.gpu, None
        if not disable_timing:
            process.timed_events.append(self)

    def record(self, stream=None):
        stream = stream or self.process.current_stream()
        assert self.gpu == stream.gpu == self.process.thread.gpu, "CUDA refuses an event of another GPU"
        stream.enqueue(0.0)
        self.time = stream.idle_from

    def synchronize(self):
        self.process.thread.now = max(self.process.thread.now, self.time)


def elapsed_milliseconds(start, end):
    assert start.gpu == end.gpu, "CUDA can't compare events of two GPUs"
    assert max(start.time, end.time) <= end.process.thread.now, "cudaErrorNotReady"
    return 1e3 * (end.time - start.time)
