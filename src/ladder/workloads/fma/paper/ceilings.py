"""`ladder.report.rates.multiply_adds` of a machine's ceilings, for chapters that don't ask a study yet."""

from ladder.report import roofs
from ladder.report.figures import peaks


def multiply_adds(ceilings, precision, device):
    """FLOP/s of a device's fused multiply-adds in registers; None where they weren't measured."""
    return peaks.best(ceilings, roofs.MULTIPLY_ADDS, device, precision=precision)
