"""The loops of `temporaries`, with those over patterns fused from the first product to the deltas.

A pattern's activations and deltas stay in the L1 cache until they are used. The weight change has a separate loop
because its rows would evict them. The bottleneck is that of `temporaries`.
"""

from typing import Literal

from ladder.harness.contract import Problem, Run
from ladder.workloads.backprop import in_c

DEVICE = "host"
RUNTIME = "openmp"
PROGRAMS = ("gcc",)
SOURCE = "fusion.c"


def setup(
    problem: Problem, *, flags: Literal["none", "O2", "O3", "unroll", "fast", "native", "all", "study"] = "native"
) -> Run:
    """The steps of an epoch, by macro block, on one thread; `flags` are named in `ladder.build.libraries`."""
    return in_c.steps_by_pattern(problem, "fusion", flags)
