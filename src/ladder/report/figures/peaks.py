"""The ceilings that a case is held against: those measured with as many threads as it has."""

from ladder.catalogue import workloads
from ladder.records.case import Case

NONE = {"rows": []}  # of a machine whose ceilings weren't measured


def flops(ceilings, precision, threads, device="host"):
    """FLOP/s of a device's best product in a precision on so many threads; None where it wasn't measured."""
    return max((rate for case, rate in cases(ceilings, "gemm", device) if fits(case, precision, threads)), default=None)


def multiply_adds(ceilings, precision, device):
    """FLOP/s of a device's fused multiply-adds in registers; None where they weren't measured."""
    found = (rate for case, rate in cases(ceilings, "fma", device) if workloads.precision(case) == precision)
    return max(found, default=None)


def roofs(ceilings, dtype):
    """The roofs of a roofline, [(threads, FLOP/s, B/s)] for every number of threads with which both were measured."""
    found = [(threads, flops(ceilings, dtype, threads), best) for threads, best in bandwidths(ceilings).items()]
    return [roof for roof in found if roof[1]]


def bandwidths(ceilings, kernels=("read", "copy", "triad"), device="host"):
    """B/s of a device's best stream among these kernels, by number of threads; {} where none was measured."""
    found = {}
    for case, rate in cases(ceilings, "stream", device):
        if case.sizes["kernel"] in kernels:
            found[case.threads] = max(rate, found.get(case.threads, 0.0))
    return dict(sorted(found.items()))


def fits(case, precision, threads):
    """Whether a case works in a precision, its dtype or a lower one, and on so many threads."""
    return workloads.precision(case) == precision and case.threads == threads


def cases(ceilings, workload, device="host"):
    """(case, best rate) of a workload's rows on a device."""
    for row in ceilings["rows"]:
        if row["workload"] == workload and row.get("device", "host") == device:
            yield Case.parse(row["workload"], row["variant"], row["case"]), row["best"]
