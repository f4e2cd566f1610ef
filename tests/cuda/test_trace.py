"""The times at which work in a GPU's streams began and ended."""

from types import SimpleNamespace

import pytest

from ladder.cuda import trace
from simulated import Card


@pytest.fixture
def cards(monkeypatch):
    cards = Card()
    monkeypatch.setattr(trace, "load_cupy", lambda: cards)
    monkeypatch.setattr(trace, "time", SimpleNamespace(perf_counter=cards.perf_counter))
    return cards


def test_work_is_there_from_its_beginning_on_the_card_to_its_end(cards):
    """Times don't count from the host's request."""
    cards.thread.now = 7.0
    recorder = trace.Recorder()
    one, other = (cards.cuda.Stream(non_blocking=True) for _ in range(2))
    recorder.around("one", "a", one, lambda: one.do(2.0))
    recorder.around("one", "b", one, lambda: one.do(3.0))
    recorder.around("other", "a", other, lambda: other.do(4.0))
    assert recorder.rows() == [("one", "a", 0.0, 2.0), ("one", "b", 2.0, 5.0), ("other", "a", 0.0, 4.0)]
    assert cards.thread.now == 12.0, "the rows are there once all is done"


def test_no_work_begins_before_the_times_do(cards):
    """Also if the GPU reaches the first event late."""
    cards.current().do(5.0)
    recorder = trace.Recorder(began=0.0)
    stream = cards.cuda.Stream(non_blocking=True)
    recorder.around("one", "a", stream, lambda: stream.do(2.0))
    assert recorder.rows() == [("one", "a", 5.0, 7.0)]


def test_without_a_stream_work_is_in_the_current_one(cards):
    recorder = trace.Recorder()
    recorder.around("card", "a", None, lambda: cards.current().do(2.0))
    with cards.cuda.Stream(non_blocking=True):
        recorder.around("card", "b", None, lambda: cards.current().do(3.0))
    assert recorder.rows() == [("card", "a", 0.0, 2.0), ("card", "b", 0.0, 3.0)]


def test_two_cards_and_the_host_have_one_clock(cards):
    cards.thread.now = 1.0
    began, rows = cards.perf_counter(), []
    for number in range(2):
        with cards.cuda.Device(number):
            cards.thread.now += 0.5
            recorder = trace.Recorder(began, f"card {number} ")
            stream = cards.cuda.Stream(non_blocking=True)
            recorder.around("compute", "1", stream, lambda stream=stream: stream.do(4.0))
            recorder.around_host("host", "1", stream.synchronize)
            rows += recorder.rows()
    assert rows == [
        ("card 0 compute", "1", 0.5, 4.5),
        ("card 0 host", "1", 0.5, 4.5),
        ("card 1 compute", "1", 5.0, 9.0),
        ("card 1 host", "1", 5.0, 9.0),
    ]


def test_nothing_recorded_is_no_row(cards):
    assert trace.Recorder().rows() == []
