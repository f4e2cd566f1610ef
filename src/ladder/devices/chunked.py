"""Large arrays, filled and compared in chunks by one thread per CPU.

NumPy releases Python's global interpreter lock on large arrays, so Python threads suffice.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from ladder.devices.host import AFFINITY

if TYPE_CHECKING:
    import numpy as np

# The number of elements drawn at random, a prime. All others repeat them, since copying is several times faster.
PERIOD = 2**22 + 15
PARTS_PER_CPU = 4  # more than one for load balance


def fill(array: np.ndarray, draw: Callable[[np.ndarray], object]) -> None:
    """Fill a C-contiguous array in place: its first `PERIOD` elements with `draw(part)`, the rest by repeating them.

    PERIOD is prime, so the repeats are aligned neither with rows nor with the blocks of kernels.
    """
    flat = array.reshape(-1)
    random_part = flat[:PERIOD]
    draw(random_part)

    def repeat(start: int) -> None:
        flat[start : start + PERIOD] = random_part[: flat.size - start]

    map_threads(repeat, range(PERIOD, flat.size, PERIOD))


def map_threads(work: Callable[[Any], Any], items: Iterable[Any]) -> list[Any]:
    """Call `work` with each item, on a thread per CPU; returns the list of results. Raises what `work` raises.

    Every thread sets its affinity: it would inherit the caller's, a single CPU if OpenMP has bound the caller.
    """
    with ThreadPoolExecutor(len(AFFINITY), initializer=os.sched_setaffinity, initargs=(0, AFFINITY)) as pool:
        return list(pool.map(work, items))


def parts(count: int) -> list[slice]:
    """Non-empty slices that together cover `count` elements or rows: a few for each CPU."""
    number = min(count, PARTS_PER_CPU * len(AFFINITY))
    return [slice(count * part // number, count * (part + 1) // number) for part in range(number)]
