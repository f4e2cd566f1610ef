"""The loops of `contiguous` on rows without aliases, with temporaries instead of repeated indexing.

The compiler can vectorise the innermost loops. The variant is bound by the L2 cache: every pattern reads the first
layer's weights from it, and reads and writes their changes.
"""

from typing import Literal

from ladder.harness.contract import Problem, Run
from ladder.workloads.backprop import in_c

DEVICE = "host"
RUNTIME = "openmp"
PROGRAMS = ("gcc",)
SOURCE = "temporaries.c"


def setup(
    problem: Problem, *, flags: Literal["none", "O2", "O3", "unroll", "fast", "native", "all", "study"] = "native"
) -> Run:
    """The steps of an epoch, by macro block, on one thread; `flags` are named in `ladder.build.libraries`."""
    return in_c.steps_by_block(problem, "temporaries", flags)
