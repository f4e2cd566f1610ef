"""All macro blocks with the loop over patterns outermost and the innermost loop along rows, also in the forward pass.

The earlier study changed the order of loops in its versions 2, 7, 17 and 22, and describes only that of the weight
change, `loop_order`; this variant changes the other macro blocks, too.

The variant is bound by loads and stores: because pointers may alias, the compiler can't keep results and indices in
registers, so it loads and stores them for every product.
"""

from typing import Literal

from ladder.harness.contract import Problem, Run
from ladder.workloads.backprop import in_c

DEVICE = "host"
RUNTIME = "openmp"
PROGRAMS = ("gcc",)
SOURCE = "contiguous.c"


def setup(
    problem: Problem, *, flags: Literal["none", "O2", "O3", "unroll", "fast", "native", "all", "study"] = "native"
) -> Run:
    """The steps of an epoch, by macro block, on one thread; `flags` are named in `ladder.build.libraries`."""
    return in_c.steps_by_block(problem, "contiguous", flags)
