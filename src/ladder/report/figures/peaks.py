"""The ceilings that figures draw, the same as those of tables: see `ladder.report.roofs`, of whose rows these are."""

from ladder.catalogue import workloads
from ladder.records.case import Case

NONE = {"rows": []}  # of a machine whose ceilings weren't measured


def rates(ceilings, some, device="host", precision=None, kernel=None):
    """[(threads, best rate in FLOP/s or B/s)] of some workloads on a device, of a precision or of a stream's kernel."""
    found = []
    for row in ceilings["rows"]:
        if row["workload"] in some and row.get("device", "host") == device:
            case = Case.parse(row["workload"], row["variant"], row["case"])
            is_meant = precision is None or workloads.precision(case) == precision
            if is_meant and kernel in (None, case.sizes.get("kernel")):
                found.append((case.threads, row["best"]))
    return found


def by_threads(ceilings, some, device="host", **kind):
    """{threads: best rate}, by `rates`; {} where nothing was measured."""
    found = {}
    for threads, rate in sorted(rates(ceilings, some, device, **kind)):
        found[threads] = max(rate, found.get(threads, 0.0))
    return found


def best(ceilings, some, device="host", threads=None, **kind):
    """The best rate of some workloads on any number of threads or on this one, by `rates`; None without one."""
    found = by_threads(ceilings, some, device, **kind)
    return found.get(threads) if threads else max(found.values(), default=None)
