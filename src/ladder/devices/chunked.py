"""Helpers to fill large arrays and to work on chunks of them, with one thread per CPU.

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

# The period of the contents, a prime: this many elements are drawn at random. The others repeat them, since copying is
# several times faster.
PERIOD = 2**22 + 15
CHUNKS_PER_CPU = 4  # more than one for load balance


def fill(array: np.ndarray, draw: Callable[[np.ndarray], object]) -> None:
    """Fill a C-contiguous array in place: its first `PERIOD` elements with `draw(chunk)`, the rest by repeating them.

    PERIOD is prime, so the repeats are aligned neither with rows nor with the blocks of kernels.
    """
    flat = array.reshape(-1)
    random_chunk = flat[:PERIOD]
    draw(random_chunk)

    def repeat(start: int) -> None:
        flat[start : start + PERIOD] = random_chunk[: flat.size - start]

    map_on_threads(repeat, range(PERIOD, flat.size, PERIOD))


def map_on_threads(work: Callable[[Any], Any], items: Iterable[Any]) -> list[Any]:
    """Call `work` with each item, on a thread per CPU; returns the list of results. Raises what `work` raises.

    Every thread sets its affinity: it would otherwise inherit the caller's, one CPU if OpenMP has bound the caller.
    """
    with ThreadPoolExecutor(len(AFFINITY), initializer=os.sched_setaffinity, initargs=(0, AFFINITY)) as pool:
        return list(pool.map(work, items))


def chunk_slices(count: int) -> list[slice]:
    """Non-empty slices that together cover `count` elements or rows: a few for each CPU."""
    chunks = min(count, CHUNKS_PER_CPU * len(AFFINITY))
    return [slice(count * chunk // chunks, count * (chunk + 1) // chunks) for chunk in range(chunks)]
