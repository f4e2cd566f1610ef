"""The loops of `fusion` with fewer operations, because constant factors are moved out of sums.

The error is halved once, and the rate is part of the output's deltas, hence of all deltas and weight changes. The
bottleneck is that of `temporaries`.
"""

from typing import Literal

from ladder.harness.contract import Problem, Run
from ladder.workloads.backprop import in_c

DEVICE = "host"
RUNTIME = "openmp"
PROGRAMS = ("gcc",)
SOURCE = "associativity.c"


def setup(
    problem: Problem, *, flags: Literal["none", "O2", "O3", "unroll", "fast", "native", "all", "study"] = "native"
) -> Run:
    """The steps of an epoch, by macro block, on one thread; `flags` are named in `ladder.build.libraries`."""
    return in_c.steps_by_pattern(problem, "associativity", flags)
