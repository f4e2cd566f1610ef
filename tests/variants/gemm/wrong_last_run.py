"""Wrong on purpose: returns the first run's result, whatever the inputs."""

DEVICE = "host"
RUNTIME = "blas"


def setup(problem, *, threads: int = 1):
    a, b, out = problem.a, problem.b, problem.out
    first_result = []

    def run():
        if not first_result:
            first_result.append(a @ b)
        out[...] = first_result[0]

    return run
