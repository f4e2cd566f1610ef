"""The rates of a study's subject that models of chapters divide by, from its ceilings and copies.

A rate is the best that was ever seen, by `roofs`; None, or no entry, where nothing was measured.
"""

from ladder.report import roofs
from ladder.report.figures import peaks
from ladder.report.study import best_rate

STREAMS = "ceiling_bandwidth"
LINK = "ceiling_gpu_bandwidth"  # whose input is copied to the card before it is read


def bandwidths(found, device="host"):
    """B/s of a device's memory by number of threads, its best stream or matrix-vector product; {} without any."""
    return peaks.by_threads(found.ceilings, roofs.STREAMS, device)


def card_bandwidth(found):
    """B/s of the card's memory."""
    return roofs.card_bandwidth(found)


def link(found):
    """B/s of copies to a card: an array that is read alone is copied once."""
    return best_rate(found.samples(LINK, phase="to device", kernel="read"), "bytes")


def products(found, precision, threads=None, device="host"):
    """FLOP/s of a device's best product in a precision on a number of threads."""
    return peaks.best(found.ceilings, roofs.PRODUCTS, device, threads, precision=precision)


def multiply_adds(found, precision, device):
    """FLOP/s of a device's fused multiply-adds in registers."""
    return peaks.best(found.ceilings, roofs.MULTIPLY_ADDS, device, precision=precision)
