"""Refuse samples that are faster than the machine's ceilings allow."""

from ladder import devices
from ladder.catalogue import contracts, traits, workloads
from ladder.errors import LadderError


def require_plausible(case, results, cost, ceilings):
    """Refuse samples faster than the measured ceilings allow, since the clock or the kernel must be wrong.

    `ceilings` holds the best rates measured on this machine: `flops`, {precision: FLOP/s of one core}; `bandwidth`, B/s
    of all cores; `cache_bytes`, the size of the caches; `margin`, the factor by which a sample may exceed the rates.
    The key `cuda` holds a dict with the same keys for one GPU.
    """
    kind = devices.of(case).CEILING_DEVICE
    limits = ceilings if kind == "host" else ceilings.get(kind)
    if limits is None:
        return
    gpus = traits.gpus(case)
    fastest = min(min(result["samples"]) for result in results)
    rate = limits["flops"].get(cost.precision)
    floors = {"arithmetic": cost.flops / (rate * (gpus or case.cores)) if rate else 0.0}
    if case.cache == "cold" and limits["bandwidth"]:
        # Each GPU has its own memory, and each rank may have a node of its own.
        floors["memory traffic"] = (cost.bytes / max(gpus, case.ranks) - limits["cache_bytes"]) / limits["bandwidth"]
    for resource, floor in floors.items():
        if fastest < floor / ceilings["margin"]:
            raise LadderError(
                f"A sample of {fastest:.3g} s is impossible: by the ceilings measured on this machine the {resource} "
                f"alone takes {floor:.3g} s. Look for work that is skipped, for too much work in {cost_of(case)}, or "
                "measure the ceilings again."
            )


def cost_of(case):
    """The words for the function `cost` of a case's workload, with its line and file."""
    path = workloads.workload_path(case.workload)
    return f"`cost` in line {contracts.definitions(path)['cost'].lineno} of {path}"
