"""Large arrays, filled and compared by a thread per CPU.

NumPy releases Python's lock on large arrays, so threads of Python suffice.
"""

import os
from concurrent.futures import ThreadPoolExecutor

from ladder.devices.host import AFFINITY

# The elements that are drawn, which takes several times as long as copying them to the rest of an array. A prime.
DRAWN = 2**22 + 15
PARTS = 4  # per CPU, so that a late one delays little


def fill(array, draw):
    """Fill a C-contiguous array in place: its first `DRAWN` elements by `draw(them)`, the rest by repeating them.

    The count is a prime, so that the repeats line up with no row and no block of any kernel.
    """
    flat = array.reshape(-1)
    drawn = flat[:DRAWN]
    draw(drawn)

    def repeat(start):
        flat[start : start + DRAWN] = drawn[: flat.size - start]

    by_threads(repeat, range(DRAWN, flat.size, DRAWN))


def by_threads(work, items):
    """[work(item), ...] in the order of the items. Raises what `work` raises.

    The affinity is set, since the threads of one that OpenMP has bound would share its CPU.
    """
    with ThreadPoolExecutor(len(AFFINITY), initializer=os.sched_setaffinity, initargs=(0, AFFINITY)) as pool:
        return list(pool.map(work, items))


def parts(count):
    """Slices that cover `count` elements or rows, for threads to take in turn: a few per CPU, none empty."""
    number = min(count, PARTS * len(AFFINITY))
    return [slice(count * part // number, count * (part + 1) // number) for part in range(number)]
