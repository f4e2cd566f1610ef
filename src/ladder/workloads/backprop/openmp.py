"""The loops of `associativity` on OpenMP threads, with several ways to sum over patterns.

The error of the epoch is a `reduction`, or one `atomic` addition per pattern. `update` selects how the weight changes
are summed: by an `atomic` addition per product; in each thread's `accumulators`, which are added at the end; or by
threads that each own some rows and iterate over all patterns (`owner`). `schedule` is that of the loop over patterns;
`simd` = 1 adds OpenMP's directive to vectorise. Atomic changes are bound by contention for cache lines; accumulators,
like `temporaries`, by each core's L2 cache.
"""

from typing import Literal

from ladder.harness.contract import Problem, Run
from ladder.workloads.backprop import in_c

DEVICE = "host"
RUNTIME = "openmp"
PROGRAMS = ("gcc",)
SOURCE = "openmp.c"
MACROS = ("simd",)
ENVIRONMENT = {"OMP_SCHEDULE": "{schedule}"}


def setup(
    problem: Problem,
    *,
    threads: int,
    schedule: Literal["static", "dynamic", "guided"],
    error: Literal["reduction", "atomic"] = "reduction",
    update: Literal["accumulators", "owner", "atomic"] = "accumulators",
    simd: int = 1,
    flags: Literal["O2", "O3", "unroll", "fast", "native", "all"] = "native",
) -> Run:
    """The steps of an epoch, by macro block, on the threads and with the schedule that the harness has set.

    `flags` are named in `ladder.build.libraries`.
    """
    program = in_c.Program(problem, "openmp", threads=threads, flags=flags, simd=simd)
    return [program.step("patterns", f"patterns_{error}"), *program.changes(f"weight_change_{update}")]
