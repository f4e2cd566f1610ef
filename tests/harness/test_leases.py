"""What timed cases hold exclusively."""

import contextlib
import fcntl
from types import SimpleNamespace

import pytest

from ladder import devices
from ladder.harness import leases
from ladder.records import locks


@pytest.fixture
def device(monkeypatch, tmp_path):
    """A function that makes a device; a case is then whatever is timed on it."""
    monkeypatch.setattr(devices, "of", lambda case: case.device)

    def make(shares, lease=lambda count: contextlib.nullcontext({})):
        return SimpleNamespace(SHARES_MACHINE=shares, lease=lease)

    return make


@pytest.mark.parametrize(("kinds", "shared"), [([True, True], True), ([True, False], False), ([False], False)])
def test_the_machine_is_shared_only_if_every_device_shares_it(device, kinds, shared):
    refused = contextlib.nullcontext() if shared else pytest.raises(BlockingIOError)
    cases = [SimpleNamespace(device=device(kind)) for kind in kinds]
    (other,) = locks.open_machine_lock("timing")
    with leases.hold_machine(*cases), refused:
        fcntl.flock(other, fcntl.LOCK_SH | fcntl.LOCK_NB)


@pytest.mark.parametrize(
    ("device", "shares"), [("host", False), ("mpi", False), ("offload", False), ("cuda", True), ("mpi_cuda", False)]
)
def test_only_a_case_of_one_card_shares_the_machine(monkeypatch, device, shares):
    """What the host does, or sends, takes its cores and its memory, which others' timings would feel."""
    monkeypatch.setattr(devices, "of", devices.load)
    with leases.hold_machine(device), pytest.raises(BlockingIOError) if not shares else contextlib.nullcontext():
        (other,) = locks.open_machine_lock("timing")
        fcntl.flock(other, fcntl.LOCK_SH | fcntl.LOCK_NB)


def test_cases_that_lease_the_same_hold_the_larger_number_once(device, monkeypatch):
    held = []
    monkeypatch.setattr(leases.workloads, "gpus", lambda case: case.cards)

    @contextlib.contextmanager
    def cards(count):
        held.append(count)
        yield {"CARDS": str(count)}
        held.append("given back")

    def nothing(count):
        return contextlib.nullcontext({"OTHER": str(count)})

    cases = [
        SimpleNamespace(device=device(True, lease), cards=count)
        for lease, count in ((cards, 2), (nothing, 0), (cards, 4), (cards, 1))
    ]
    with leases.lease_devices(*cases) as variables:
        assert (variables, held) == ({"CARDS": "4", "OTHER": "1"}, [4])
    assert held == [4, "given back"]
