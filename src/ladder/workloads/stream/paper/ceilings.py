"""`ladder.report.rates.bandwidths` of a machine's ceilings, for chapters that don't ask a study yet."""

from ladder.report import roofs
from ladder.report.figures import peaks


def bandwidths(ceilings, device="host"):
    """B/s of a device's memory by number of threads, its best stream or matrix-vector product; {} without any."""
    return peaks.by_threads(ceilings, roofs.STREAMS, device)
