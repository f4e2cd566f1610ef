"""The machine's ceilings, from the records of the experiments whose names begin with `ceiling`."""

import statistics

from ladder import record
from ladder.devices import host

PREFIX = "ceiling"


def is_ceiling(experiment):
    """Whether an experiment measures a ceiling of the machine."""
    return experiment.startswith(PREFIX)


def summarise(paths, margin):
    """The best rates ever sampled, which no other sample may beat by more than `margin`, and a row per record.

    FLOP/s by precision come from products, B/s from streams: {flops, bandwidth, cache_bytes, margin, rows}.
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
            found["flops"][precision] = max(found["flops"].get(precision, 0.0), best)
        row = {"workload": one["workload"], "variant": one["variant"], "case": one["case"], "best": best}
        row |= {"median": work / statistics.median(samples), "unit": "B/s" if streams else "FLOP/s"}
        found["rows"].append(row)
    return found
