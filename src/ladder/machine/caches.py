"""The CPUs' caches: their sizes, and how to flush them."""

import functools
import itertools
import os
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

CPUS = Path("/sys/devices/system/cpu")
UNITS = {"K": 2**10, "M": 2**20}
# Bytes assumed for the last level and for an L2 cache if Linux reports none.
DEFAULT_LAST_LEVEL, DEFAULT_L2 = 32 * 2**20, 2 * 2**20
# The maximum bytes that the calling thread of a flush writes, unless it has no CPU for other threads.
CALLER_BYTES = 64 * 2**20
# Linux's names of the kinds of caches, and the letters that mark them in a cache's name, such as L1d.
KIND_LETTERS = {"Data": "d", "Instruction": "i", "Unified": ""}


@functools.cache
def all_caches() -> dict[tuple[int, str, str], int]:
    """{(level, kind, CPUs that share it): bytes} of the machine's caches that Linux reports."""
    caches = {}
    for folder in CPUS.glob("cpu[0-9]*/cache/index[0-9]*"):
        try:
            level, kind, size, cpus = (
                (folder / name).read_text(encoding="utf-8").strip()
                for name in ("level", "type", "size", "shared_cpu_list")
            )
        except OSError:
            continue  # under a hypervisor some properties may be missing
        caches[int(level), kind, cpus] = int(size[:-1]) * UNITS[size[-1]]
    return caches


def data_caches() -> dict[tuple[int, str], int]:
    """{(level, CPUs that share it): bytes} of the machine's data caches that Linux reports."""
    return {(level, cpus): size for (level, kind, cpus), size in all_caches().items() if kind != "Instruction"}


def last_level() -> int:
    """The total bytes of the level of caches that is largest in total, usually the last one.

    It is the maximum of the values of Linux and of the C library, either of which may be too low in a virtual machine.
    """
    levels: Counter[int] = Counter()
    for (level, _), size in data_caches().items():
        levels[level] += size
    return max(*levels.values(), sysconf("SC_LEVEL2_CACHE_SIZE"), sysconf("SC_LEVEL3_CACHE_SIZE")) or DEFAULT_LAST_LEVEL


def sysconf(name: str) -> int:
    """Bytes of a cache as the C library reports them; 0 if unknown."""
    try:
        return max(os.sysconf(name), 0)
    except (ValueError, OSError):
        return 0


def largest_l2() -> int:
    """Bytes of the largest L2 cache of any core; 2 MiB if Linux reports none."""
    return max((size for (level, _), size in data_caches().items() if level == 2), default=DEFAULT_L2)


def flusher(cpus: Sequence[int], processes: int = 1) -> Callable[[], None]:
    """A function that flushes these CPUs' private caches and, together with other processes, the shared ones.

    A thread on each CPU writes a buffer of twice the L2 cache, and sleeps otherwise. The processes write twice the last
    level, or CALLER_BYTES if that is more: each caller up to CALLER_BYTES, its threads the rest. The caller writes
    last, so that it is awake when the timed call begins: Linux might wake it on a CPU that a thread of the timed call
    needs, which costs milliseconds.
    """
    import numpy as np  # here, because most commands only read the caches' sizes

    part = max(CALLER_BYTES, 2 * last_level()) // processes  # bytes, as all that follow, of this process
    caller_part = min(part, CALLER_BYTES) if cpus else part
    thread_bytes = 2 * largest_l2() + (part - caller_part) // max(1, len(cpus))
    threads = [ThreadPoolExecutor(1, initializer=os.sched_setaffinity, initargs=(0, {cpu})) for cpu in cpus]
    buffers = [np.zeros(thread_bytes, np.uint8) for _ in cpus]
    caller_buffer = np.zeros(caller_part, np.uint8)
    counter = itertools.count()

    def flush() -> None:
        value = next(counter) % 251  # a byte, other than that of the previous flush
        futures = [thread.submit(buffer.fill, value) for thread, buffer in zip(threads, buffers, strict=True)]
        for future in futures:
            future.result()
        caller_buffer.fill(value)

    return flush
