"""What fused multiply-adds in registers reach, as a ceiling of other workloads' figures."""

from ladder.report import roofs
from ladder.report.figures import peaks


def multiply_adds(ceilings, precision, device):
    """FLOP/s of a device's fused multiply-adds in registers; None where they weren't measured."""
    return peaks.best(ceilings, roofs.MULTIPLY_ADDS, device, precision=precision)
