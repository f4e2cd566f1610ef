"""The loops of `loop_order` on rows without aliases, with temporaries instead of repeated indexing.

Innermost loops can now be vectorised. Bound by the L2 cache, from which every pattern reads the weights of the first
layer, and to which it writes their changes.
"""

from typing import Literal

from ladder.workloads.backprop import in_c

DEVICE = "host"
RUNTIME = "openmp"
PROGRAMS = ("gcc",)
SOURCE = "temporaries.c"


def setup(problem, *, flags: Literal["O2", "O3", "unroll", "fast", "native", "all", "bounds"] = "native"):
    """The steps of an epoch, by macro block, on one thread."""
    return in_c.by_block(problem, "temporaries", flags)
