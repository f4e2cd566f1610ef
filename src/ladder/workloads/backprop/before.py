"""The untuned program: in every macro block the loop over patterns is innermost.

Each access strides by a row, and a result is loaded and stored for every product. A column touches a cache line per
row: bound by the latency of the cache that holds these lines, or of memory if none does.
"""

from typing import Literal

from ladder.workloads.backprop import in_c

DEVICE = "host"
RUNTIME = "openmp"
PROGRAMS = ("gcc",)
SOURCE = "before.c"


def setup(problem, *, flags: Literal["O2", "O3", "unroll", "fast", "native", "all", "bounds"] = "native"):
    """The steps of an epoch, by macro block, on one thread."""
    return in_c.by_block(problem, "before", flags)
