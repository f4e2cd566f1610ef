"""The ceilings that products are held against: the best product with as many threads, and the roofs of a roofline."""

from ladder.report import roofs
from ladder.report.figures import peaks
from ladder.workloads.stream.paper import ceilings as streams


def products(ceilings, precision, threads, device="host"):
    """FLOP/s of a device's best product in a precision on a number of threads; None where it wasn't measured."""
    return peaks.best(ceilings, roofs.PRODUCTS, device, threads, precision=precision)


def roofs_by_threads(ceilings, dtype):
    """The roofs of a roofline, [(threads, FLOP/s, B/s)] for every number of threads with which both were measured."""
    rates = streams.bandwidths(ceilings).items()
    found = [(threads, products(ceilings, dtype, threads), bandwidth) for threads, bandwidth in rates]
    return [roof for roof in found if roof[1]]
