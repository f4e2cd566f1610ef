"""Exclusive use of the machine and of GPUs by timed cases."""

import contextlib
import fcntl
from types import SimpleNamespace

import pytest

from ladder import devices
from ladder.harness import leases
from ladder.records import locks


@pytest.fixture
def device(monkeypatch, tmp_path):
    """A function that creates a stand-in for a device; a case is any object with the attribute `device`."""
    monkeypatch.setattr(devices, "of", lambda case: case.device)

    def create(shares, lease=lambda count: contextlib.nullcontext({})):
        return SimpleNamespace(SHARES_MACHINE=shares, lease=lease)

    return create


@pytest.mark.parametrize(("kinds", "shared"), [([True, True], True), ([True, False], False), ([False], False)])
def test_the_machine_is_shared_only_if_every_device_shares_it(device, kinds, shared):
    context = contextlib.nullcontext() if shared else pytest.raises(BlockingIOError)
    cases = [SimpleNamespace(device=device(kind)) for kind in kinds]
    (descriptor,) = locks.open_machine_lock("timing")
    with leases.hold_machine(*cases), context:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)


@pytest.mark.parametrize(
    ("device", "shares"), [("host", False), ("mpi", False), ("offload", False), ("cuda", True), ("mpi_cuda", False)]
)
def test_only_a_case_on_one_gpu_shares_the_machine(monkeypatch, device, shares):
    """Work and messages of the host use its cores and memory, which would disturb other timings."""
    monkeypatch.setattr(devices, "of", devices.load)
    with leases.hold_machine(device), pytest.raises(BlockingIOError) if not shares else contextlib.nullcontext():
        (descriptor,) = locks.open_machine_lock("timing")
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)


def test_cases_with_the_same_lease_hold_the_largest_number_once(device, monkeypatch):
    events = []
    monkeypatch.setattr(leases.traits, "gpus", lambda case: case.gpus)

    @contextlib.contextmanager
    def lease_gpus(count):
        events.append(count)
        yield {"GPUS": str(count)}
        events.append("released")

    def lease_nothing(count):
        return contextlib.nullcontext({"OTHER": str(count)})

    cases = [
        SimpleNamespace(device=device(True, lease), gpus=count)
        for lease, count in ((lease_gpus, 2), (lease_nothing, 0), (lease_gpus, 4), (lease_gpus, 1))
    ]
    with leases.lease_devices(*cases) as variables:
        assert (variables, events) == ({"GPUS": "4", "OTHER": "1"}, [4])
    assert events == [4, "released"]
