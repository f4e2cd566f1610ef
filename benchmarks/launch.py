"""Is the time of a short kernel, as the harness takes it, that of the kernel and not of its launch?

    python benchmarks/launch.py

Times a product of some microseconds on a GPU one launch at a time, by the harness's stopwatch, and as part of a CUDA
graph: the slope from a graph of 1000 launches to one of 2000, so that what a graph costs once stays out. Exits with 1
when the two differ by more than 10 %.
"""

import os
import sys
from statistics import median

from ladder import locks, worker, workloads
from ladder.comparison import named
from ladder.devices import cuda
from ladder.errors import LadderError
from ladder.workloads.mlp.cuda import captured

CASE = named("gemm/cuda_shared/form=nn,m=128,n=128,k=96,dtype=float32,source=random,seed=1,cache=warm,block=16")
LAUNCHES = 1000
SINGLE, GRAPHS = 500, 20  # how often each is timed
ALLOWED = 0.1


def times():
    """Seconds of the product: launched alone, in a graph, and of no launch at all, by the stopwatch; medians."""
    workload = workloads.load(CASE.workload)
    problem = worker.make_problem(workload, CASE, cuda)
    staged = cuda.staging(problem.inputs)
    workload.fill(staged, CASE.sizes, 0, None)
    cuda.upload(staged, problem.inputs)
    run = workloads.load_variant(CASE.workload, CASE.variant).setup(problem, **CASE.tuning)
    alone = timed(run, SINGLE)
    few, many = (timed(captured([("", run)] * count), GRAPHS) for count in (LAUNCHES, 2 * LAUNCHES))
    return alone, (many - few) / LAUNCHES, timed(lambda: None, SINGLE)


def timed(run, count):
    """The median of so many timings, after one that doesn't count."""
    cuda.stopwatch(run)
    return median(cuda.stopwatch(run) for _ in range(count))


def main():
    try:
        with locks.quiet_machine(shared=True), cuda.lease() as variables:
            os.environ.update(cuda.environment(1) | variables)
            alone, repeated, nothing = times()
    except LadderError as error:
        sys.exit(f"launch: {error}")
    print(CASE.key)
    print(f"launched alone, by the stopwatch: {1e6 * alone:.2f} us (no launch at all: {1e6 * nothing:.2f} us)")
    print(f"each of {LAUNCHES} launches of a graph: {1e6 * repeated:.2f} us")
    print(f"ratio: {alone / repeated:.3f} (required: within {ALLOWED:.0%} of 1)")
    sys.exit(abs(alone / repeated - 1) > ALLOWED)


if __name__ == "__main__":
    main()
