"""Wrong on purpose: the last element lacks its addend."""

from ladder.workloads.axpy import vectorised

DEVICE = "host"
RUNTIME = "blas"


def setup(problem, *, threads: int = 1):
    """The sum, then the last element without y."""
    right = vectorised.setup(problem)

    def run():
        right()
        problem.out[-1] -= problem.y[-1]

    return run
