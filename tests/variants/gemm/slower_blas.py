"""The product by BLAS, then a wait of so many percent of the time that this very product took: a planted slowdown.

By the clock, because no share of the arithmetic is a known share of the time: a product of 5 % of the rows takes more
than 5 % as long.
"""

from time import perf_counter_ns

from ladder.workloads.gemm import blas

DEVICE = "host"
RUNTIME = "blas"


def setup(problem, *, percent: int, threads: int):
    """The product and the wait."""
    multiply = blas.setup(problem, threads=threads)

    def run():
        begin = perf_counter_ns()
        multiply()
        end = begin + (perf_counter_ns() - begin) * (100 + percent) // 100
        while perf_counter_ns() < end:
            pass

    return run
