"""Large arrays, filled and compared in chunks by one thread per CPU.

NumPy releases Python's global interpreter lock on large arrays, so Python threads suffice.
"""

import os
from concurrent.futures import ThreadPoolExecutor

from ladder.devices.host import AFFINITY

# The number of elements drawn at random; the others repeat them, because copying is several times faster. A prime.
DRAWN = 2**22 + 15
PARTS = 4  # per CPU, for load balance


def fill(array, draw):
    """Fill a C-contiguous array in place: its first `DRAWN` elements with `draw(part)`, the rest by repeating them.

    DRAWN is prime, so that the repeats align with no row and no block of any kernel.
    """
    flat = array.reshape(-1)
    drawn = flat[:DRAWN]
    draw(drawn)

    def repeat(start):
        flat[start : start + DRAWN] = drawn[: flat.size - start]

    map_threads(repeat, range(DRAWN, flat.size, DRAWN))


def map_threads(work, items):
    """Call `work` with each item, on a thread per CPU; returns the list of results. Raises what `work` raises.

    The affinity is set because new threads inherit it: if OpenMP has bound the caller, all would share its CPU.
    """
    with ThreadPoolExecutor(len(AFFINITY), initializer=os.sched_setaffinity, initargs=(0, AFFINITY)) as pool:
        return list(pool.map(work, items))


def parts(count):
    """Slices that cover `count` elements or rows, a few per CPU for threads to take in turn, none empty."""
    number = min(count, PARTS * len(AFFINITY))
    return [slice(count * part // number, count * (part + 1) // number) for part in range(number)]
