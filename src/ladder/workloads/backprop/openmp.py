"""The loops of `associativity` on OpenMP threads, and the ways to add up over patterns what all threads add to.

The error of the epoch is a `reduction` or one `atomic` addition a pattern. The changes of the weights (`update`) are
added product by product by `atomic` operations, in `accumulators` of each thread that are added up in the end, or by
threads that own rows and go through all patterns (`owner`). `schedule` shares the patterns; `simd` asks for vectors.
Atomic changes are bound by the cache lines that threads take from each other; accumulators by the second cache, as
`temporaries` is, on every thread.
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
    """The steps of an epoch, by macro block, on the threads and by the schedule that the harness has set."""
    program = in_c.Program(problem, "openmp", threads=threads, flags=flags, simd=simd)
    return [program.step("patterns", f"patterns_{error}"), *program.changes(f"weight_change_{update}")]
