"""The device `offload`: a call ends when its results have arrived on the host."""

import pytest

from ladder import devices
from ladder.catalogue import traits, workloads
from ladder.cuda import clock, gpus
from ladder.devices.host import Host
from ladder.errors import LadderError
from ladder.records.case import Case

OFFLOAD = devices.load("offload")


@pytest.fixture
def pending_seconds(monkeypatch):
    """The pending work of a simulated GPU, a list of seconds."""
    pending = []

    def time_until_idle():
        return pending.pop() if pending else 0.0

    monkeypatch.setattr(clock, "time_until_idle", time_until_idle)
    monkeypatch.setattr(clock, "idle_overhead", lambda: 0.0)
    monkeypatch.setattr(gpus, "synchronize", pending.clear)
    return pending


def test_a_run_that_does_not_wait_for_its_copies_is_refused(pending_seconds):
    with pytest.raises(LadderError, match="wait for the last copy"):
        OFFLOAD.require_finished(lambda: pending_seconds.append(0.001))
    OFFLOAD.require_finished(lambda: None)


@pytest.mark.parametrize("delays", [1, 30])
def test_delays_of_a_busy_host_are_accepted(pending_seconds, delays):
    """Calls are repeated until one of them leaves no work behind, for half a second or longer."""
    seconds_left_behind = [0.0] + [0.001] * delays
    OFFLOAD.require_finished(lambda: pending_seconds.append(seconds_left_behind.pop()))
    assert seconds_left_behind == []


@pytest.mark.parametrize(("seconds", "is_refused"), [(60e-6, False), (0.9e-3, False), (1.2e-3, True)])
def test_the_driver_may_clean_up_for_a_small_share_of_a_call(pending_seconds, seconds, is_refused, monkeypatch):
    """After a call of 0.2 s, 50 µs and 0.5 % of the call are allowed, 1.05 ms in all."""
    monkeypatch.setattr(Host, "stopwatch", lambda self, run: run() or 0.2)
    if is_refused:
        with pytest.raises(LadderError, match="wait for the last copy"):
            OFFLOAD.require_finished(lambda: pending_seconds.append(seconds))
    else:
        OFFLOAD.require_finished(lambda: pending_seconds.append(seconds))


def test_a_call_begins_with_idle_gpus(pending_seconds):
    pending_seconds.append(1.0)
    pending_at_start = []
    assert OFFLOAD.stopwatch(lambda: pending_at_start.append(list(pending_seconds))) > 0
    assert pending_at_start == [[]]


def test_a_case_uses_the_number_of_gpus_in_its_tuning():
    sizes = workloads.complete("dcgan", {"images": 5})
    assert traits.gpus(Case("dcgan", "home", sizes, {"gpus": 3})) == 3
    assert traits.gpus(Case("dcgan", "home", sizes, {})) == 1
    assert traits.gpus(Case("dcgan", "cuda", sizes, {})) == 1
    assert traits.gpus(Case("dcgan", "host", sizes, {"threads": 1})) == 0
