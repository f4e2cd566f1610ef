"""Reading one piece of the file after the other, on one thread.

A piece is copied from the operating system's memory to a buffer in the second cache and converted from there, with
vectors. Bound by what one core copies and writes: 4 bytes or 8 for every byte that is read.
"""

from ladder.workloads.pattern_input import in_c

DEVICE = "host"
RUNTIME = "openmp"
PROGRAMS = ("gcc",)
SOURCE = "serial.c"


def setup(problem):
    """The reading."""
    return in_c.reading(problem, "serial")
