"""Wrong on purpose: stops with an exception."""

DEVICE = "host"
RUNTIME = "blas"


def setup(problem, *, threads: int = 1):

    def run():
        raise ValueError("no such matrix")

    return run
