"""The ceilings that figures draw, the same as those of tables: see `ladder.store.roofs`, of whose rows these are."""

from ladder.catalogue import workloads
from ladder.records.case import Case
from ladder.store.ceilings import stated_ceiling

NONE = {"rows": []}  # of a machine whose ceilings weren't measured


def rates(ceilings, kinds, device="host", precision=None, kernel=None):
    """[(threads, best rate in FLOP/s or B/s)] of ceilings of some kinds, as workloads state them, on a device.

    With a precision, or a stream's kernel, of these alone.
    """
    known = []
    for row in ceilings["rows"]:
        if stated_ceiling(row["workload"]) in kinds and row.get("device", "host") == device:
            case = Case.parse(row["workload"], row["variant"], row["case"])
            is_meant = precision is None or workloads.precision(case) == precision
            if is_meant and kernel in (None, case.sizes.get("kernel")):
                known.append((case.threads, row["best"]))
    return known


def by_threads(ceilings, kinds, device="host", **kind):
    """{threads: best rate}, by `rates`; {} where nothing was measured."""
    by_count = {}
    for threads, rate in sorted(rates(ceilings, kinds, device, **kind)):
        by_count[threads] = max(rate, by_count.get(threads, 0.0))
    return by_count


def best(ceilings, kinds, device="host", threads=None, **kind):
    """The best rate of some kinds on any number of threads or on this one, by `rates`; None without one."""
    by_count = by_threads(ceilings, kinds, device, **kind)
    return by_count.get(threads) if threads else max(by_count.values(), default=None)
