"""Reading in OpenMP tasks, as in the earlier study's program: one thread creates them, and all execute them.

A task reads `block` images, piece by piece like `serial`. With few images per task, the overhead of tasks dominates;
with many, threads wait for the last task. The variant is memory-bound by the numbers that are written.
"""

from ladder.harness.contract import Problem, Run
from ladder.workloads.pattern_input import in_c

DEVICE = "host"
RUNTIME = "openmp"
PROGRAMS = ("gcc",)
SOURCE = "openmp_tasks.c"
LIMITS = {"block": (1, 65536)}


def setup(problem: Problem, *, threads: int, block: int = 256) -> Run:
    """The reading."""
    return in_c.reading_step(problem, "openmp_tasks", threads, block)
