"""Exclusive use of resources while cases are timed: of the machine, and of the GPUs that their devices lease."""

import contextlib

from ladder import devices
from ladder.catalogue import traits
from ladder.machine import variables
from ladder.records.locks import timing_lock


def hold_machine(*cases, shared=False):
    """Hold the machine while cases are timed: exclusively, or `shared` if the protocol or their devices allow that."""
    return timing_lock(shared=shared or all(devices.of(case).SHARES_MACHINE for case in cases))


def require_devices(case):
    """Refuse a case for which this machine has too few parts of its device, such as GPUs. Raises LadderError."""
    devices.of(case).require_available(lease_count(case))


def lease_count(case):
    """The number of GPUs, at least 1, that a case leases on this node."""
    return max(1, -(-traits.gpus(case) // variables.nodes()))


@contextlib.contextmanager
def lease_devices(*cases):
    """Lease the devices of cases, such as GPUs, and yield the environment variables that select them.

    If a case runs on several nodes, only the GPUs of this node are leased.
    """
    counts = {}
    for case in cases:
        lease = devices.of(case).lease  # devices with the same kind of lease share this function
        counts[lease] = max(counts.get(lease, 1), lease_count(case))
    with contextlib.ExitStack() as stack:
        leases = [stack.enter_context(lease(count)) for lease, count in counts.items()]
        yield {name: value for lease in leases for name, value in lease.items()}
