"""What timed cases hold for themselves: the machine, and what their devices lease."""

import contextlib
import os

from ladder import devices
from ladder.catalogue import workloads
from ladder.records.locks import quiet_machine


def quiet(*cases):
    """Hold the machine for cases until they are done: alone, or with others whose devices share it."""
    return quiet_machine(shared=all(devices.of(case).SHARES_MACHINE for case in cases))


@contextlib.contextmanager
def leased(*cases):
    """Hold what the devices of cases lease, cards for example; the variables by which their workers find it.

    Of the cards of a case that is on several nodes, as LADDER_NODES says, those of this one.
    """
    counts, nodes = {}, int(os.environ.get("LADDER_NODES", "1"))
    for case in cases:
        lease = devices.of(case).lease  # one for all devices that lease the same
        counts[lease] = max(counts.get(lease, 1), -(-workloads.cards(case) // nodes))
    with contextlib.ExitStack() as stack:
        found = [stack.enter_context(lease(count)) for lease, count in counts.items()]
        yield {name: value for variables in found for name, value in variables.items()}
