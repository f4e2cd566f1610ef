"""Samples that no machine can reach: those faster than its ceilings allow. What isn't run at all is in `plan`."""

from ladder import devices
from ladder.catalogue import workloads
from ladder.errors import LadderError


def require_possible(case, results, cost, ceilings):
    """Refuse samples faster than the machine's measured ceilings allow: they come from a clock or a kernel that lies.

    `ceilings` holds FLOP/s of one core by precision and B/s of all cores, the best ever seen on this machine; under a
    device's name the same of one such device; and the `margin` by which a quieter moment may exceed them.
    """
    kind = devices.of(case).CEILINGS
    own = ceilings if kind == "host" else ceilings.get(kind)
    if own is None:
        return
    cards = workloads.cards(case)
    fastest = min(min(result["samples"]) for result in results)
    rate = own["flops"].get(cost.precision)
    floors = {"arithmetic": cost.flops / (rate * (cards or case.cores)) if rate else 0.0}
    if case.cache == "cold" and own["bandwidth"]:
        # Each card has its own memory, and ranks may be on nodes of their own.
        floors["memory traffic"] = (cost.bytes / max(cards, case.ranks) - own["cache_bytes"]) / own["bandwidth"]
    for what, floor in floors.items():
        if fastest < floor / ceilings["margin"]:
            raise LadderError(
                f"A sample of {fastest:.3g} s is impossible: by the ceilings measured on this machine the {what} "
                f"alone takes {floor:.3g} s. Look for work left out, or measure the ceilings again."
            )
