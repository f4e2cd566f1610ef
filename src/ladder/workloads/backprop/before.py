"""The untuned program of the earlier study: the weight change alone has the loop over patterns innermost.

The study printed the code of the weight change, which took 220 of more than 250 s. So the other blocks must have
been far cheaper per product: here they go pattern by pattern and unit by unit, with the innermost loop over the units
below, weights read by columns and a sum in memory. The innermost loop of the weight change touches a cache line and a
page per pattern, and is bound by the latency of the cache that holds these lines.
"""

from typing import Literal

from ladder.harness.contract import Problem, Run
from ladder.workloads.backprop import in_c

DEVICE = "host"
RUNTIME = "openmp"
PROGRAMS = ("gcc",)
SOURCE = "before.c"


def setup(
    problem: Problem, *, flags: Literal["none", "O2", "O3", "unroll", "fast", "native", "all", "study"] = "native"
) -> Run:
    """The steps of an epoch, by macro block, on one thread; `flags` are named in `ladder.build.libraries`."""
    return in_c.steps_by_unit(problem, "before", flags)
