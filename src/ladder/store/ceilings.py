"""What samples are held against: ceilings, from the records of the experiments whose names begin with `ceiling`.

They are there before anything else is measured. What shares of a ceiling refer to, from all that was measured, is in
`roofs`.

What a workload's cases are a ceiling of, its literal CEILING says: "flops", FLOP/s of products, as those of a ceiling
experiment are without one; "multiply-adds", FLOP/s that may raise what products have reached; "bandwidth", of B/s;
"raises bandwidth", B/s that set no ceiling by themselves, nor in a ceiling experiment.
"""

import statistics

from ladder.catalogue import literals, workloads
from ladder.records import record
from ladder.records.case import Case

PREFIX = "ceiling"
FLOPS, FUSED, BANDWIDTH, RAISES_BANDWIDTH = "flops", "multiply-adds", "bandwidth", "raises bandwidth"
# What names a case in a row.
CASE = ("workload", "variant", "case", "device")


def is_ceiling(experiment):
    """Whether an experiment measures a ceiling of the machine."""
    return experiment.startswith(PREFIX)


def summarise(paths, margin):
    """The best rates ever sampled, which no other sample may beat by more than `margin`, and a row per record.

    {flops, bandwidth, cache_bytes, margin, cuda, rows}: `flops` is FLOP/s of one core by precision, from products on
    any number of threads, so that one busy core while they were measured doesn't lower it; `bandwidth` is B/s of all
    cores, from streams. `cuda` contains the same of a GPU, if one was measured.

    Fused multiply-adds may raise what products of their precision have reached, but they set no ceiling by themselves:
    tensor cores can be faster.
    """
    records, multiplied = [record.read(path) for path in paths], []
    # Of the machine that measured, which needn't be this one.
    summary = {**of_a_device(records[0]["description"]["cache_bytes"]), "margin": margin, "rows": []}
    for content in records:
        samples = [seconds for process in content["processes"] for seconds in process["samples"]]
        kind, precision = ceiling_of(content["workload"]), content["cost"]["precision"]
        work = content["cost"][bound(content["workload"])]
        best = work / min(samples)
        limits = summary
        if content["device"] == "cuda":
            limits = summary.setdefault("cuda", of_a_device(content["processes"][0]["threads"]["gpu"]["cache_bytes"]))
        if kind == BANDWIDTH:
            limits["bandwidth"] = max(limits["bandwidth"], best)
        else:
            rate = best / Case.parse(content["workload"], content["variant"], content["case"]).threads
            if kind == FUSED:
                multiplied.append((limits["flops"], precision, rate))
            else:
                limits["flops"][precision] = max(limits["flops"].get(precision, 0.0), rate)
        summary["rows"].append(row({name: content[name] for name in CASE}, work, samples))
    for flops, precision, rate in multiplied:
        if precision in flops:
            flops[precision] = max(flops[precision], rate)
    return summary


def row(case, work, samples):
    """A case's best and median rate, {workload, variant, case, device, best, median, unit}, from samples in seconds."""
    rates = {"best": work / min(samples), "median": work / statistics.median(samples)}
    return case | rates | {"unit": "B/s" if bound(case["workload"]) == "bytes" else "FLOP/s"}


def ceiling_of(workload):
    """What the cases of a workload are a ceiling of; "flops" also where there is no such workload."""
    return stated_ceiling(workload) or FLOPS


def stated_ceiling(workload):
    """What a workload says that its cases are a ceiling of, read as text; None where it says nothing."""
    path = workloads.module_path(workload, "__init__")
    return literals.read(path).get("CEILING") if path else None


def bound(workload):
    """What bounds a workload that measures a ceiling, as a record's cost and a table's columns name it."""
    return "bytes" if ceiling_of(workload) in (BANDWIDTH, RAISES_BANDWIDTH) else "flops"


def of_a_device(cache_bytes):
    """The ceilings of a device of which nothing has been seen yet."""
    return {"flops": {}, "bandwidth": 0.0, "cache_bytes": cache_bytes}
