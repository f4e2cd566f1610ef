"""Reading in OpenMP tasks, as the earlier study's program did: one thread makes them, and all take them.

A task reads `block` images, piece by piece as `serial` does. With few images each, tasks cost more than they share
out; with many, threads wait for the last one. Bound by memory: the numbers that are written.
"""

from ladder.workloads.pattern_input import in_c

DEVICE = "host"
RUNTIME = "openmp"
PROGRAMS = ("gcc",)
SOURCE = "openmp_tasks.c"
LIMITS = {"block": (1, 65536)}


def setup(problem, *, threads: int, block: int = 256):
    """The reading."""
    return in_c.reading(problem, "openmp_tasks", threads, block)
