"""Arrays of the host, work on GPUs: a call ends when its results have arrived."""

import pytest

from ladder import devices
from ladder.catalogue import workloads
from ladder.cuda import clock, gpus
from ladder.devices.host import Host
from ladder.errors import LadderError
from ladder.records.case import Case

OFFLOAD = devices.load("offload")


@pytest.fixture
def card(monkeypatch):
    """A GPU whose work is a number of seconds to wait for."""
    left = []

    def time_until_idle():
        return left.pop() if left else 0.0

    monkeypatch.setattr(clock, "time_until_idle", time_until_idle)
    monkeypatch.setattr(clock, "idle_overhead", lambda: 0.0)
    monkeypatch.setattr(gpus, "synchronize", left.clear)
    return left


def test_a_copy_that_is_not_waited_for_is_refused(card):
    with pytest.raises(LadderError, match="wait for the last copy"):
        OFFLOAD.require_finished(lambda: card.append(0.001))
    OFFLOAD.require_finished(lambda: None)


def test_a_host_that_is_late_once_is_none(card):
    seconds = [0.0, 0.001]
    OFFLOAD.require_finished(lambda: card.append(seconds.pop()))
    assert seconds == []


@pytest.mark.parametrize(("seconds", "is_refused"), [(60e-6, False), (0.9e-3, False), (1.2e-3, True)])
def test_what_the_driver_clears_up_is_a_small_part_of_a_call(card, seconds, is_refused, monkeypatch):
    monkeypatch.setattr(Host, "stopwatch", lambda self, run: run() or 0.2)
    if is_refused:
        with pytest.raises(LadderError, match="wait for the last copy"):
            OFFLOAD.require_finished(lambda: card.append(seconds))
    else:
        OFFLOAD.require_finished(lambda: card.append(seconds))


def test_a_call_begins_with_idle_cards(card):
    card.append(1.0)
    found = []
    assert OFFLOAD.stopwatch(lambda: found.append(list(card))) > 0
    assert found == [[]]


def test_a_case_leases_as_many_cards_as_it_works_on():
    sizes = workloads.complete("dcgan", {"images": 5})
    assert workloads.gpus(Case("dcgan", "home", sizes, {"gpus": 3})) == 3
    assert workloads.gpus(Case("dcgan", "home", sizes, {})) == 1
    assert workloads.gpus(Case("dcgan", "cuda", sizes, {})) == 1
    assert workloads.gpus(Case("dcgan", "host", sizes, {"threads": 1})) == 0
