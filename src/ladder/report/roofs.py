"""The ceilings of a study's subject as the tables have them: the best rate ever sampled of each, or None.

They are the roofs of S. Williams, A. Waterman and D. Patterson's roofline model, Communications of the ACM 52(4), 2009.
"""

from ladder.report.study import best_rate


def arithmetic(found, dtype, threads):
    """FLOP/s of the BLAS on that many threads."""
    return best_rate(found.samples("ceiling_arithmetic", dtype=dtype, threads=threads), "flops")


def bandwidth(found, threads, **kernel):
    """B/s of memory on that many threads, of one kernel or of all."""
    return best_rate(found.samples("ceiling_bandwidth", threads=threads, **kernel), "bytes")


def ridge(found, dtype):
    """FLOPs per byte at which one thread's two ceilings meet."""
    peak, stream = arithmetic(found, dtype, 1), bandwidth(found, 1)
    return peak / stream if peak and stream else None


def card_arithmetic(found, dtype):
    """FLOP/s of the card's BLAS in a dtype's own precision."""
    return best_rate(found.samples("ceiling_gpu_arithmetic", dtype=dtype), "flops")


def card_bandwidth(found, kernel):
    """B/s of one kernel in the card's memory."""
    return best_rate(found.samples("ceiling_gpu_bandwidth", kernel=kernel), "bytes")
