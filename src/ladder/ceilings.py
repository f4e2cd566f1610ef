"""The machine's ceilings, from the records of the experiments whose names begin with `ceiling`."""

import statistics

from ladder import record
from ladder.case import Case
from ladder.devices import host

PREFIX = "ceiling"


def is_ceiling(experiment):
    """Whether an experiment measures a ceiling of the machine."""
    return experiment.startswith(PREFIX)


def summarise(paths, margin):
    """The best rates ever sampled, which no other sample may beat by more than `margin`, and a row per record.

    {flops, bandwidth, cache_bytes, margin, rows}: `flops` is FLOP/s of one core by precision, from products on any
    number of threads, so that one busy core while they were measured doesn't lower it; `bandwidth` is B/s of all cores,
    from streams.
    """
    found = {"flops": {}, "bandwidth": 0.0, "cache_bytes": host.last_level_cache(), "margin": margin, "rows": []}
    for path in paths:
        one = record.read(path)
        samples = [seconds for process in one["processes"] for seconds in process["samples"]]
        streams, precision = one["workload"] == "stream", one["cost"]["precision"]
        work = one["cost"]["bytes" if streams else "flops"]
        best = work / min(samples)
        if streams:
            found["bandwidth"] = max(found["bandwidth"], best)
        else:
            threads = Case.parse(one["workload"], one["variant"], one["case"]).threads
            found["flops"][precision] = max(found["flops"].get(precision, 0.0), best / threads)
        row = {"workload": one["workload"], "variant": one["variant"], "case": one["case"], "best": best}
        row |= {"median": work / statistics.median(samples), "unit": "B/s" if streams else "FLOP/s"}
        found["rows"].append(row)
    return found
