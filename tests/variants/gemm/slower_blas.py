"""The product by BLAS, then a wait of `percent` % of the time that it just took: a planted slowdown.

The product is timed, because a share of the arithmetic isn't the same share of the time: a product of 5 % of the rows
takes more than 5 % as long.
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
