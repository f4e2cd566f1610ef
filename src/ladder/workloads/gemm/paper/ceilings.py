"""`ladder.report.rates.products` of a machine's ceilings, for chapters that don't ask a study yet."""

from ladder.report import roofs
from ladder.report.figures import peaks


def products(ceilings, precision, threads, device="host"):
    """FLOP/s of a device's best product in a precision on a number of threads; None where it wasn't measured."""
    return peaks.best(ceilings, roofs.PRODUCTS, device, threads, precision=precision)
