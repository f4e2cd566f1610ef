"""The macro blocks with the loop over patterns outside, so that innermost loops are contiguous.

Bound by what the compiler can't keep in registers, since any pointer might reach what any other writes: it reads and
writes results and indices again for every product.
"""

from typing import Literal

from ladder.workloads.backprop import in_c

DEVICE = "host"
RUNTIME = "openmp"
PROGRAMS = ("gcc",)
SOURCE = "loop_order.c"


def setup(problem, *, flags: Literal["O2", "O3", "unroll", "fast", "native", "all", "bounds"] = "native"):
    """The steps of an epoch, by macro block, on one thread."""
    return in_c.by_block(problem, "loop_order", flags)
