"""Large arrays, filled and compared in chunks by one thread per CPU.

NumPy releases Python's global interpreter lock on large arrays, so Python threads suffice.
"""

import os
from concurrent.futures import ThreadPoolExecutor

from ladder.devices.host import AFFINITY

# The number of elements that are drawn; drawing takes several times longer than copying. A prime.
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

    by_threads(repeat, range(DRAWN, flat.size, DRAWN))


def by_threads(work, items):
    """[work(item), ...] in the order of the items. Raises what `work` raises.

    The affinity is set, since threads that are started by one bound by OpenMP would share its CPU.
    """
    with ThreadPoolExecutor(len(AFFINITY), initializer=os.sched_setaffinity, initargs=(0, AFFINITY)) as pool:
        return list(pool.map(work, items))


def parts(count):
    """Slices that cover `count` elements or rows, a few per CPU for threads to take in turn, none empty."""
    number = min(count, PARTS * len(AFFINITY))
    return [slice(count * part // number, count * (part + 1) // number) for part in range(number)]
