"""The measured ceilings that figures draw: the best rates of a workload on a device, see `ladder.report.ceilings`."""

from ladder.catalogue import workloads
from ladder.records.case import Case

NONE = {"rows": []}  # of a machine whose ceilings weren't measured


def cases(ceilings, workload, device="host"):
    """(case, best rate in FLOP/s or B/s) of a workload's ceilings on a device."""
    for row in ceilings["rows"]:
        if row["workload"] == workload and row.get("device", "host") == device:
            yield Case.parse(row["workload"], row["variant"], row["case"]), row["best"]


def best(ceilings, workload, precision, device="host", threads=None):
    """The best rate of a workload in a precision, on any number of threads or on this one; None without one."""
    rates = (
        rate
        for case, rate in cases(ceilings, workload, device)
        if workloads.precision(case) == precision and threads in (None, case.threads)
    )
    return max(rates, default=None)
