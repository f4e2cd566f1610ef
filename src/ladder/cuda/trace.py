"""Traces of the work in a GPU's streams, by CUDA events around it in an untimed run."""

import time
from collections.abc import Callable
from typing import Any

from ladder.cuda.gpus import load_cupy


class Recorder:
    """Records work on the current GPU as the rows of a trace (`harness/traces.py`); the GPU must be idle at first.

    Times count from `start`, a value of `time.perf_counter()`, by default from now. Events of different GPUs can't be
    compared, so each GPU has its own recorder. The names of its lanes begin with `prefix`.
    """

    def __init__(self, start: float | None = None, prefix: str = "") -> None:
        self.event, self.elapsed = load_cupy().cuda.Event, load_cupy().cuda.get_elapsed_time
        self.origin = self.record_event(None)
        self.origin.synchronize()  # else work in other streams might begin before it if another process uses the GPU
        now = time.perf_counter()
        self.start = now if start is None else start
        self.offset, self.prefix = now - self.start, prefix  # seconds from the start to the origin
        self.events: list[tuple[Any, ...]] = []
        self.host_rows: list[tuple[Any, ...]] = []

    def record_event(self, stream: Any) -> Any:
        """Record an event in a stream, by default (None) the current one."""
        event = self.event()
        event.record(stream)
        return event

    def record(self, lane: str, name: str, stream: Any, work: Callable[[], object]) -> None:
        """Call `work`, which puts work into a stream, and record when the GPU starts and ends it."""
        start = self.record_event(stream)
        work()
        self.events.append((self.prefix + lane, name, start, self.record_event(stream)))

    def record_host(self, lane: str, name: str, work: Callable[[], object]) -> None:
        """Call `work`, which runs on the host, and record when it starts and ends."""
        start = time.perf_counter()
        work()
        self.host_rows.append((self.prefix + lane, name, start - self.start, time.perf_counter() - self.start))

    def rows(self) -> list[tuple[str, str, float, float]]:
        """Wait until all recorded work has ended; returns its rows (lane, name, start, end), times in seconds."""
        for *_, end in self.events:
            end.synchronize()
        return [(lane, name, *map(self.seconds, ends)) for lane, name, *ends in self.events] + self.host_rows

    def seconds(self, event: Any) -> float:
        """The time of an event in seconds since the start."""
        return self.offset + self.elapsed(self.origin, event) * 1e-3
