"""Large arrays, filled and looked through by as many threads as there are CPUs.

NumPy works on large arrays beside Python, so threads of Python suffice.
"""

import os
from concurrent.futures import ThreadPoolExecutor

from ladder.devices.host import AFFINITY

# A prime: so many elements are drawn, which takes several times as long as copying them to the rest of an array.
DRAWN = 2**22 + 15
PARTS = 4  # for each CPU, so that one which is late holds up little


def fill(array, draw):
    """Fill a C-contiguous array in place: its first `DRAWN` elements by `draw(them)`, the rest by repeating them.

    At a prime count no row ends and no block of any kernel.
    """
    flat = array.reshape(-1)
    drawn = flat[:DRAWN]
    draw(drawn)

    def repeat(start):
        flat[start : start + DRAWN] = drawn[: flat.size - start]

    by_threads(repeat, range(DRAWN, flat.size, DRAWN))


def by_threads(work, items):
    """What the work gives for every item, in their order. Raises what the work raises.

    A thread that OpenMP has bound would have its threads share its CPU.
    """
    with ThreadPoolExecutor(len(AFFINITY), initializer=os.sched_setaffinity, initargs=(0, AFFINITY)) as pool:
        return list(pool.map(work, items))


def parts(count):
    """Slices of so many elements or rows, for threads to take one after the other: a few for each CPU, none empty."""
    number = min(count, PARTS * len(AFFINITY))
    return [slice(count * part // number, count * (part + 1) // number) for part in range(number)]
