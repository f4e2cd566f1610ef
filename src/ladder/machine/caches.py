"""The CPUs' caches: how large they are, and how they are emptied."""

import functools
import os
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

CPUS = Path("/sys/devices/system/cpu")
UNITS = {"K": 2**10, "M": 2**20}
# Where nothing is told.
USUAL_SHARED, USUAL_PRIVATE = 32 * 2**20, 2 * 2**20
SMALLEST_FLUSH = 64 * 2**20


# What Linux calls the kinds, and what they add to a cache's name.
LETTERS = {"Data": "d", "Instruction": "i", "Unified": ""}


@functools.cache
def listed():
    """{(level, kind, CPUs that share it): bytes} of the machine's caches that Linux tells of."""
    caches = {}
    for folder in CPUS.glob("cpu[0-9]*/cache/index[0-9]*"):
        try:
            level, kind, size, cpus = (
                (folder / name).read_text(encoding="utf-8").strip()
                for name in ("level", "type", "size", "shared_cpu_list")
            )
        except OSError:
            continue  # a hypervisor may tell of some properties only
        caches[int(level), kind, cpus] = int(size[:-1]) * UNITS[size[-1]]
    return caches


def found():
    """{(level, CPUs that share it): bytes} of the machine's data caches that Linux tells of."""
    return {(level, cpus): size for (level, kind, cpus), size in listed().items() if kind != "Instruction"}


def last_level():
    """Bytes of the machine's largest level of caches, all caches of that level together.

    By Linux's list and by the C library, of which a virtual machine may deceive either: the one that says more.
    """
    levels = Counter()
    for (level, _), size in found().items():
        levels[level] += size
    return max(*levels.values(), by_library("SC_LEVEL2_CACHE_SIZE"), by_library("SC_LEVEL3_CACHE_SIZE")) or USUAL_SHARED


def by_library(name):
    """Bytes of a cache by the C library; 0 where it doesn't know."""
    try:
        return max(os.sysconf(name), 0)
    except (ValueError, OSError):
        return 0


def private():
    """Bytes of the largest second-level cache of any core; 2 MiB where Linux tells of none."""
    return max((size for (level, _), size in found().items() if level == 2), default=USUAL_PRIVATE)


def flusher(cpus, processes=1):
    """A function that empties these CPUs' private caches, and with other processes the shared ones, by writing.

    A thread on each CPU writes twice the size of its private caches, and sleeps otherwise. The caller then writes twice
    the size of the shared ones, or this process's part of it, so that it is awake when the timed call begins: had it
    waited, Linux might have woken it on a CPU that a thread of the timed call needs, which costs milliseconds.
    """
    threads = [ThreadPoolExecutor(1, initializer=os.sched_setaffinity, initargs=(0, {cpu})) for cpu in cpus]
    buffers = [np.zeros(2 * private(), np.uint8) for _ in cpus]
    shared = np.zeros(max(SMALLEST_FLUSH, 2 * last_level()) // processes, np.uint8)
    state = iter(range(2**62))

    def flush():
        value = next(state) % 251
        written = [thread.submit(buffer.fill, value) for thread, buffer in zip(threads, buffers, strict=True)]
        for one in written:
            one.result()
        shared.fill(value)

    return flush
