"""The first step of the earlier study: `before` with the loop over patterns moved out of the weight change, no more.

Both innermost loops have a row of the weights' width behind every step or a store: the forward pass reads the weights by
columns from the L2 cache, and the weight change loads and stores a result for every product, since pointers may alias.
"""

from typing import Literal

from ladder.workloads.backprop import in_c

DEVICE = "host"
RUNTIME = "openmp"
PROGRAMS = ("gcc",)
SOURCE = "loop_order.c"


def setup(problem, *, flags: Literal["O2", "O3", "unroll", "fast", "native", "all", "bounds"] = "native"):
    """The steps of an epoch, by macro block, on one thread."""
    return in_c.by_unit(problem, "loop_order", flags)
