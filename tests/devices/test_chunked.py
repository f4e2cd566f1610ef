"""Large arrays: filled to the end with repeated numbers, and processed in order."""

import math
import os

import numpy as np
import pytest

from ladder.devices import chunked


def test_the_number_of_drawn_elements_is_prime():
    assert all(chunked.PERIOD % divisor for divisor in range(2, math.isqrt(chunked.PERIOD) + 1))


@pytest.mark.parametrize("shape", [(1,), (30,), (31,), (32,), (62,), (10, 7)])
def test_the_whole_array_is_filled_and_no_more_than_needed_drawn(monkeypatch, shape):
    monkeypatch.setattr(chunked, "PERIOD", 31)
    array, drawn_sizes = np.full(shape, np.nan), []

    def draw(part):
        part[...] = np.arange(part.size)
        drawn_sizes.append(part.size)

    chunked.fill(array, draw)
    assert np.array_equal(array.reshape(-1), np.arange(array.size) % 31)
    assert drawn_sizes == [min(31, array.size)]


def test_results_are_in_order_and_exceptions_are_raised():
    assert chunked.map_on_threads(lambda item: item**2, range(100)) == [item**2 for item in range(100)]
    with pytest.raises(ZeroDivisionError):
        chunked.map_on_threads(lambda item: 1 / item, range(3))


@pytest.mark.parametrize("cpus", [1, 3, 64])
@pytest.mark.parametrize("count", [0, 1, 2, 17, 65, 4097])
def test_chunks_cover_everything_once_and_none_is_empty(monkeypatch, cpus, count):
    monkeypatch.setattr(chunked, "AFFINITY", set(range(cpus)))
    chunks = [list(range(count))[chunk] for chunk in chunked.chunk_slices(count)]
    assert [element for chunk in chunks for element in chunk] == list(range(count))
    assert all(chunks)
    assert len(chunks) <= chunked.CHUNKS_PER_CPU * cpus


def test_threads_started_by_a_bound_thread_may_use_all_cpus():
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(allowed)})
    try:
        assert chunked.map_on_threads(lambda item: os.sched_getaffinity(0), range(3)) == [allowed] * 3
    finally:
        os.sched_setaffinity(0, allowed)
