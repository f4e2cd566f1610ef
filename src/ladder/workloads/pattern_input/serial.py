"""Reading one piece of the file after the other, on one thread.

A piece is copied from the page cache to a buffer that fits in the L2 cache, and converted from there with vector
instructions. The variant is bound by the copies and stores of one core: 4 or 8 bytes are written per byte read.
"""

from ladder.harness.contract import Problem, Run
from ladder.workloads.pattern_input import in_c

DEVICE = "host"
RUNTIME = "openmp"
PROGRAMS = ("gcc",)
SOURCE = "serial.c"


def setup(problem: Problem) -> Run:
    """The reading."""
    return in_c.reading_step(problem, "serial")
