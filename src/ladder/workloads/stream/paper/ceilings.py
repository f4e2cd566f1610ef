"""What memory reaches, as a ceiling of other workloads' figures."""

from ladder.report import roofs
from ladder.report.figures import peaks


def bandwidths(ceilings, device="host"):
    """B/s of a device's memory by number of threads, its best stream or matrix-vector product; {} without any."""
    return peaks.by_threads(ceilings, roofs.STREAMS, device)
