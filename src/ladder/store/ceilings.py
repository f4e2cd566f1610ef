"""The ceilings that samples are compared with, from records of the experiments whose names begin with `ceiling`.

These experiments are measured before all others. `roofs` has the ceilings that shares refer to, from all measurements.

The literal CEILING of a workload says what its cases measure: "flops", FLOP/s of products (the default in a ceiling
experiment); "multiply-adds", FLOP/s that may raise the rate of products; "bandwidth", B/s; "raises bandwidth", B/s that
may raise a bandwidth in `roofs` but set none, and that belong in no ceiling experiment.
"""

import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ladder.catalogue import literals, locations
from ladder.records import record
from ladder.records.case import Case

FLOPS, FUSED, BANDWIDTH, RAISES_BANDWIDTH = "flops", "multiply-adds", "bandwidth", "raises bandwidth"
# The entries of a record that identify its case, and the device.
CASE_AND_DEVICE = ("workload", "variant", "case", "device")


def summarise(paths: Sequence[Path | str], margin: float) -> dict[str, Any]:
    """The best rates ever sampled, which no other sample may beat by more than the factor `margin`, and all rates.

    {flops, bandwidth, cache_bytes, margin, cuda, rows}: `flops`, {precision: FLOP/s of one core}, is the best of
    products on any number of threads, so that a core that was busy meanwhile doesn't lower it; `bandwidth` is B/s of
    all cores, from streams; `cuda` has the same of a GPU, if one was measured; `rows` has a `rate_row` for each.

    Fused multiply-adds may raise the rate of products of their precision, but set no ceiling alone: tensor cores can
    be faster.
    """
    records, fused_rates = [record.read(path) for path in paths], []
    # The caches are those of the machine that measured, which needn't be this one.
    summary: dict[str, Any] = {**empty_ceilings(records[0]["description"]["cache_bytes"]), "margin": margin, "rows": []}
    for content in records:
        samples = [seconds for process in content["processes"] for seconds in process["samples"]]
        kind, precision = ceiling_of(content["workload"]), content["cost"]["precision"]
        work = content["cost"][work_column(content["workload"])]
        best = work / min(samples)
        limits = summary
        if content["device"] == "cuda":
            limits = summary.setdefault(
                "cuda", empty_ceilings(content["processes"][0]["threads"]["gpu"]["cache_bytes"])
            )
        if kind == BANDWIDTH:
            limits["bandwidth"] = max(limits["bandwidth"], best)
        else:
            rate = best / Case.parse(content["workload"], content["variant"], content["case"]).threads
            if kind == FUSED:
                fused_rates.append((limits["flops"], precision, rate))
            else:
                limits["flops"][precision] = max(limits["flops"].get(precision, 0.0), rate)
        summary["rows"].append(rate_row({name: content[name] for name in CASE_AND_DEVICE}, work, samples))
    for flops, precision, rate in fused_rates:
        if precision in flops:
            flops[precision] = max(flops[precision], rate)
    return summary


def rate_row(case: dict[str, str], work: int, samples: Sequence[float]) -> dict[str, Any]:
    """A case's best and median rate, {workload, variant, case, device, best, median, unit}, from samples in seconds."""
    rates = {"best": work / min(samples), "median": work / statistics.median(samples)}
    return case | rates | {"unit": "B/s" if work_column(case["workload"]) == "bytes" else "FLOP/s"}


def ceiling_of(workload: str) -> str:
    """The kind of ceiling that the cases of a workload measure; "flops" also for an unknown workload."""
    return stated_ceiling(workload) or FLOPS


def stated_ceiling(workload: str) -> str | None:
    """The literal CEILING of a workload, read as text; None without one."""
    path = locations.module_path(workload, "__init__")
    return literals.read(path).get("CEILING") if path else None


def work_column(workload: str) -> str:
    """The column of the work that a ceiling's rate counts, flops or bytes; a record's cost has the same key."""
    return "bytes" if ceiling_of(workload) in (BANDWIDTH, RAISES_BANDWIDTH) else "flops"


def empty_ceilings(cache_bytes: int) -> dict[str, Any]:
    """The ceilings of a device before any sample."""
    return {"flops": {}, "bandwidth": 0.0, "cache_bytes": cache_bytes}
