"""The loops of `associativity` on OpenMP threads, with several ways to sum over patterns.

The error of the epoch is a `reduction` or one `atomic` addition per pattern. The changes of the weights (`update`) are
summed by an `atomic` addition per product, in a thread's `accumulators`, which are added at the end, or by threads that
own rows and iterate over all patterns (`owner`). `schedule` is that of the patterns; `simd` requests vectorisation.
Atomic changes are bound by contention for cache lines; accumulators, like `temporaries`, by the L2 cache of every
thread.
"""

from typing import Literal

from ladder.workloads.backprop import in_c

DEVICE = "host"
RUNTIME = "openmp"
PROGRAMS = ("gcc",)
SOURCE = "openmp.c"
MACROS = ("simd",)
ENVIRONMENT = {"OMP_SCHEDULE": "{schedule}"}


def setup(
    problem,
    *,
    threads: int,
    schedule: Literal["static", "dynamic", "guided"],
    error: Literal["reduction", "atomic"] = "reduction",
    update: Literal["accumulators", "owner", "atomic"] = "accumulators",
    simd: int = 1,
    flags: Literal["O2", "O3", "unroll", "fast", "native", "all", "bounds"] = "native",
):
    """The steps of an epoch, by macro block, on the threads and with the schedule that the harness has set."""
    program = in_c.Program(problem, "openmp", threads=threads, flags=flags, simd=simd)
    return [program.step("patterns", f"patterns_{error}"), *program.changes(f"weight_change_{update}")]
