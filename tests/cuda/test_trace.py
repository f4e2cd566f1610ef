"""Traces: the times at which work in a GPU's streams started and ended."""

from types import SimpleNamespace

import pytest

from ladder.cuda import trace
from simulated_gpus import SimulatedGpus


@pytest.fixture
def gpus(monkeypatch):
    """Simulated GPUs in place of CuPy, and their clock."""
    gpus = SimulatedGpus()
    monkeypatch.setattr(trace, "load_cupy", lambda: gpus)
    monkeypatch.setattr(trace, "time", SimpleNamespace(perf_counter=gpus.perf_counter))
    return gpus


def test_a_row_lasts_from_the_start_of_work_on_the_gpu_to_its_end(gpus):
    """Times are those of the GPU, not of the host's request."""
    gpus.thread.now = 7.0
    recorder = trace.Recorder()
    first, second = (gpus.cuda.Stream(non_blocking=True) for _ in range(2))
    recorder.record("first", "a", first, lambda: first.enqueue(2.0))
    recorder.record("first", "b", first, lambda: first.enqueue(3.0))
    recorder.record("second", "a", second, lambda: second.enqueue(4.0))
    assert recorder.rows() == [("first", "a", 0.0, 2.0), ("first", "b", 2.0, 5.0), ("second", "a", 0.0, 4.0)]
    assert gpus.thread.now == 12.0, "the rows are complete only when all work has ended"


def test_no_work_starts_before_time_zero(gpus):
    """This also holds if the GPU reaches the first event late."""
    gpus.current_stream().enqueue(5.0)
    recorder = trace.Recorder(start=0.0)
    stream = gpus.cuda.Stream(non_blocking=True)
    recorder.record("first", "a", stream, lambda: stream.enqueue(2.0))
    assert recorder.rows() == [("first", "a", 5.0, 7.0)]


def test_the_default_stream_is_the_current_one(gpus):
    recorder = trace.Recorder()
    recorder.record("gpu", "a", None, lambda: gpus.current_stream().enqueue(2.0))
    with gpus.cuda.Stream(non_blocking=True):
        recorder.record("gpu", "b", None, lambda: gpus.current_stream().enqueue(3.0))
    assert recorder.rows() == [("gpu", "a", 0.0, 2.0), ("gpu", "b", 0.0, 3.0)]


def test_two_gpus_and_the_host_have_one_clock(gpus):
    gpus.thread.now = 1.0
    start, rows = gpus.perf_counter(), []
    for number in range(2):
        with gpus.cuda.Device(number):
            gpus.thread.now += 0.5
            recorder = trace.Recorder(start, f"gpu {number} ")
            stream = gpus.cuda.Stream(non_blocking=True)
            recorder.record("compute", "1", stream, lambda stream=stream: stream.enqueue(4.0))
            recorder.record_host("host", "1", stream.synchronize)
            rows += recorder.rows()
    assert rows == [
        ("gpu 0 compute", "1", 0.5, 4.5),
        ("gpu 0 host", "1", 0.5, 4.5),
        ("gpu 1 compute", "1", 5.0, 9.0),
        ("gpu 1 host", "1", 5.0, 9.0),
    ]


def test_an_unused_recorder_has_no_rows(gpus):
    assert trace.Recorder().rows() == []
