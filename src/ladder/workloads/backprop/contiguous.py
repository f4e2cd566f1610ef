"""The macro blocks with the loop over patterns outermost, so innermost loops access contiguous memory.

Bound by loads and stores: because pointers may alias, the compiler can't keep results and indices in registers, so it
loads and stores them for every product.
"""

from typing import Literal

from ladder.workloads.backprop import in_c

DEVICE = "host"
RUNTIME = "openmp"
PROGRAMS = ("gcc",)
SOURCE = "contiguous.c"


def setup(problem, *, flags: Literal["O2", "O3", "unroll", "fast", "native", "all", "bounds"] = "native"):
    """The steps of an epoch, by macro block, on one thread."""
    return in_c.by_block(problem, "contiguous", flags)
