"""Traces of an untimed run: of work in a GPU's streams, by CUDA events around it, and of work on the host."""

import time
from collections.abc import Callable
from typing import Any

from ladder.cuda.gpus import load_cupy


class Recorder:
    """Records work on the current GPU as the rows of a trace (`harness/traces.py`); create it while the GPU is idle.

    Times count from `start`, a value of `time.perf_counter()`, by default from now. Events of different GPUs can't be
    compared, so each GPU has its own recorder. The names of its lanes begin with `prefix`.
    """

    def __init__(self, start: float | None = None, prefix: str = "") -> None:
        self.prefix = prefix
        self.origin = self.record_event(None)
        # Without this, work in other streams might begin before the origin if another process uses the GPU.
        self.origin.synchronize()
        host_origin = time.perf_counter()
        self.start = host_origin if start is None else start
        self.offset = host_origin - self.start  # seconds from the start to the origin
        self.events: list[tuple[Any, ...]] = []
        self.host_rows: list[tuple[Any, ...]] = []

    def record_event(self, stream: Any) -> Any:
        """Record an event in a stream, or in the current one if it is None."""
        event = load_cupy().cuda.Event()
        event.record(stream)
        return event

    def record(self, lane: str, name: str, stream: Any, enqueue: Callable[[], object]) -> None:
        """Call `enqueue`, which puts work into a stream, and record when the GPU starts and ends this work."""
        start_event = self.record_event(stream)
        enqueue()
        self.events.append((self.prefix + lane, name, start_event, self.record_event(stream)))

    def record_host(self, lane: str, name: str, work: Callable[[], object]) -> None:
        """Call `work`, which runs on the host, and record when it starts and ends."""
        start = time.perf_counter() - self.start
        work()
        self.host_rows.append((self.prefix + lane, name, start, time.perf_counter() - self.start))

    def rows(self) -> list[tuple[str, str, float, float]]:
        """Wait until all recorded work has ended; returns its rows (lane, name, start, end), times in seconds."""
        for *_, end_event in self.events:
            end_event.synchronize()
        gpu_rows = [(lane, name, self.seconds(start), self.seconds(end)) for lane, name, start, end in self.events]
        return gpu_rows + self.host_rows

    def seconds(self, event: Any) -> float:
        """The time of an event in seconds since the start."""
        return self.offset + load_cupy().cuda.get_elapsed_time(self.origin, event) * 1e-3
