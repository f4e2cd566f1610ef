"""Sampling inside a worker: the order of its steps, and when it ends."""

import gc
from types import SimpleNamespace

import pytest

from ladder.harness import worker
from ladder.harness.validation import Check

JOB_PROTOCOL = {"samples": 2, "least": 2, "most": 2, "target": 1e9, "seconds": 60.0}


def take_samples(times=(1.0,) * 9, broadcast=lambda value: value, **limits):
    """The samples of a device whose stopwatch returns these times, and the names of the called functions."""
    calls, clock = [], iter(times)

    def stopwatch(run):
        assert not gc.isenabled(), "the garbage collector may run inside a timed call"
        run()
        return next(clock)

    device = SimpleNamespace(stopwatch=stopwatch, broadcast=broadcast)
    steps = [lambda name=name: calls.append(name) for name in ("run", "flush", "reset")]
    return worker.take_samples(device, *steps, SimpleNamespace(**JOB_PROTOCOL | limits)), calls


def test_every_timed_call_starts_with_fresh_inputs_and_flushed_caches():
    samples, calls = take_samples()
    assert samples == [1.0, 1.0]
    assert calls == ["reset", "flush", "run"] * 3  # the first of them warms up
    assert gc.isenabled()


@pytest.mark.parametrize(
    ("limits", "count"),
    [
        ({"samples": 6, "most": 9}, 6),
        # The median has no interval before the sixth sample.
        ({"samples": 2, "most": 9, "target": 0.01}, 6),
        ({"samples": 9, "most": 9, "least": 3, "seconds": 0.0}, 3),
        ({"samples": 9, "most": 4, "least": 9}, 4),
    ],
)
def test_sampling_ends_when_the_median_converges_or_a_limit_is_reached(limits, count):
    assert len(take_samples(**limits)[0]) == count


@pytest.mark.parametrize(("seconds", "first_is_late", "count"), [(60.0, True, 3), (0.0, False, 9)])
def test_all_ranks_end_when_the_time_of_the_first_is_over(seconds, first_is_late, count):
    """This rank's own `seconds` do not count: a rank that continued alone would wait for the others for ever."""
    limits = {"samples": 9, "least": 3, "most": 9, "seconds": seconds}
    assert len(take_samples(broadcast=lambda is_late: first_is_late, **limits)[0]) == count


def test_scattered_samples_require_more():
    times = [1.0, 1.5, 1.0, 1.5, 1.0, 1.5, 1.0, 1.5, 1.0]
    assert len(take_samples(times, samples=2, most=8, target=0.01)[0]) == 8


def test_of_checks_with_the_same_name_the_worst_is_kept():
    checks = [Check("x", 0.5, 1.0), Check("x", 3.0, 4.0), Check("x", 2.0, 4.0), Check("y", 0.0, 1.0)]
    assert worker.worst_by_name(checks) == [Check("x", 3.0, 4.0), Check("y", 0.0, 1.0)]
