"""The first step of the earlier study: `before` with the loop over patterns moved outwards in the weight change only.

The forward pass still reads the weights by columns. The weight change is bound by loads and stores: since pointers may
alias, the compiler loads and stores a result for every product.
"""

from typing import Literal

from ladder.harness.contract import Problem, Run
from ladder.workloads.backprop import in_c

DEVICE = "host"
RUNTIME = "openmp"
PROGRAMS = ("gcc",)
SOURCE = "loop_order.c"


def setup(
    problem: Problem, *, flags: Literal["none", "O2", "O3", "unroll", "fast", "native", "all", "study"] = "native"
) -> Run:
    """The steps of an epoch, by macro block, on one thread; `flags` are named in `ladder.build.libraries`."""
    return in_c.steps_by_unit(problem, "loop_order", flags)
