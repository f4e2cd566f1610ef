"""The loops of `temporaries`, those over patterns fused from the first product to the deltas.

A pattern's activations and deltas stay in the first cache until they are used; the weight change keeps a loop of its
own, as its rows would drive them out. Bound as `temporaries` is.
"""

from typing import Literal

from ladder.workloads.backprop import in_c

DEVICE = "host"
RUNTIME = "openmp"
PROGRAMS = ("gcc",)
SOURCE = "fusion.c"


def setup(problem, *, flags: Literal["O2", "O3", "unroll", "fast", "native", "all", "bounds"] = "native"):
    """The steps of an epoch, by macro block, on one thread."""
    return in_c.by_pattern(problem, "fusion", flags)
