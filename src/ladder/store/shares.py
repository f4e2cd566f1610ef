"""Rates of single cases and their shares of this machine's ceilings, as its ceiling experiments measured them."""

from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from ladder import devices
from ladder.catalogue import traits
from ladder.machine import description
from ladder.records import documents
from ladder.records.case import Case
from ladder.store import ceiling_rates
from ladder.store.ceilings import BANDWIDTH, FLOPS, RAISES_BANDWIDTH, stated_ceiling

FOLDER = "results/ceilings"


def of_this_machine() -> dict[str, Any]:
    """The ceilings of this machine, as the verb `ceilings` writes them; without rows if they weren't measured."""
    path = Path(FOLDER, f"{description.label()}.json")
    return documents.read(path, "ceilings") if path.is_file() else ceiling_rates.NO_CEILINGS


def rate(
    ceilings: Mapping[str, Any], case: Case, cost: SimpleNamespace, seconds: float
) -> tuple[float, str, float | None]:
    """(rate, unit, share of the ceiling or None) of a case that takes `seconds` for a `cost` with flops and bytes.

    The rate is that of arithmetic, or of memory if the workload says so by CEILING or has no arithmetic. The share is
    None if that ceiling wasn't measured, and for a warm case's rate of memory, since its data may come from caches.
    """
    kind = stated_ceiling(case.workload)
    is_memory = kind in (BANDWIDTH, RAISES_BANDWIDTH) or not cost.flops
    value, unit = (cost.bytes, "B/s") if is_memory else (cost.flops, "FLOP/s")
    kinds, precision = ((BANDWIDTH,), None) if is_memory else ((FLOPS,), cost.precision)
    device = devices.of(case).CEILING_DEVICE
    threads = case.cores if device == "host" else None
    best = ceiling_rates.best(ceilings, kinds, device, threads, precision=precision)
    if not best or (case.cache != "cold" and is_memory):
        return value / seconds, unit, None
    return value / seconds, unit, value / seconds / (best * max(traits.gpus(case), 1))
