"""The ceilings that figures draw, the same as those of tables: see `ladder.report.roofs`, of whose rows these are."""

from ladder.catalogue import workloads
from ladder.records.case import Case
from ladder.report.ceilings import stated_ceiling

NONE = {"rows": []}  # of a machine whose ceilings weren't measured


def rates(ceilings, kinds, device="host", precision=None, kernel=None):
    """[(threads, best rate in FLOP/s or B/s)] of ceilings of some kinds, as workloads state them, on a device.

    With a precision, or a stream's kernel, of these alone.
    """
    found = []
    for row in ceilings["rows"]:
        if stated_ceiling(row["workload"]) in kinds and row.get("device", "host") == device:
            case = Case.parse(row["workload"], row["variant"], row["case"])
            is_meant = precision is None or workloads.precision(case) == precision
            if is_meant and kernel in (None, case.sizes.get("kernel")):
                found.append((case.threads, row["best"]))
    return found


def by_threads(ceilings, kinds, device="host", **kind):
    """{threads: best rate}, by `rates`; {} where nothing was measured."""
    found = {}
    for threads, rate in sorted(rates(ceilings, kinds, device, **kind)):
        found[threads] = max(rate, found.get(threads, 0.0))
    return found


def best(ceilings, kinds, device="host", threads=None, **kind):
    """The best rate of some kinds on any number of threads or on this one, by `rates`; None without one."""
    found = by_threads(ceilings, kinds, device, **kind)
    return found.get(threads) if threads else max(found.values(), default=None)
