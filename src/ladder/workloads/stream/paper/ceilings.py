"""What streams through memory reach, as a ceiling of other workloads' figures."""

from ladder.report.figures import peaks


def bandwidths(ceilings, kernels=("read", "copy", "triad"), device="host"):
    """B/s of a device's best stream among these kernels, by number of threads; {} where none was measured."""
    found = {}
    for case, rate in peaks.cases(ceilings, "stream", device):
        if case.sizes["kernel"] in kernels:
            found[case.threads] = max(rate, found.get(case.threads, 0.0))
    return dict(sorted(found.items()))
