"""Is the time of a short kernel, as the harness takes it, that of the kernel and not of its launch?

    python benchmarks/launch.py

Times a product of some microseconds on a GPU one launch at a time, by the harness's stopwatch, and in a batch: the
slope from 200 launches in a row to 400, all queued before the first begins, however slow the host is. Exits with 1 when
the two differ by more than 10 %.
"""

import os
import sys
import timeit
from functools import partial
from statistics import median

from ladder import cuda, devices
from ladder.catalogue import workloads
from ladder.cuda import clock
from ladder.errors import LadderError
from ladder.harness import worker
from ladder.harness.comparison import parse_key
from ladder.records import locks

CASE = parse_key("gemm/cuda_shared/form=nn,m=128,n=128,k=96,dtype=float32,source=random,seed=1,cache=warm,block=16")
LAUNCHES = 200
SLACK = 2  # times as long as the host took to queue a batch, the GPU waits before the batch begins
SINGLE, BATCHES = 500, 20  # how often each is timed
ALLOWED = 0.1


def times():
    """Seconds of the product: launched alone, by the stopwatch, and in a batch; medians."""
    workload, device = workloads.load(CASE.workload), devices.of(CASE)
    problem = worker.make_problem(workload, CASE, device)
    staged = device.staging(problem.inputs)
    workload.fill(staged, CASE.sizes, 0, None)
    device.upload(staged, problem.inputs)
    run = workloads.load_variant(CASE.workload, CASE.variant).setup(problem, **CASE.tuning)
    batches = (batch(run, count) for count in (LAUNCHES, 2 * LAUNCHES))
    few, many = (partial(clock.time_between_events, launches, SLACK * queuing(launches)) for launches in batches)
    return typical(partial(device.stopwatch, run), SINGLE), (typical(many, BATCHES) - typical(few, BATCHES)) / LAUNCHES


def batch(run, count):
    """A function that runs so many times."""
    return lambda: [run() for _ in range(count)]


def queuing(launches):
    """Nanoseconds in which the host queues these launches, the longest of some times after one that doesn't count."""
    launches()
    return int(max(timeit.repeat(launches, cuda.synchronize, number=1, repeat=5)) * 1e9)


def typical(timing, count):
    """The median of so many timings, after one that doesn't count."""
    timing()
    return median(timing() for _ in range(count))


def main():
    device = devices.of(CASE)
    try:
        with locks.quiet_machine(shared=True), device.lease() as variables:
            os.environ.update(device.environment(1) | variables)
            alone, repeated = times()
    except LadderError as error:
        sys.exit(f"launch: {error}")
    print(CASE.key)
    print(f"launched alone, by the stopwatch: {1e6 * alone:.2f} us")
    print(f"each launch of a batch: {1e6 * repeated:.2f} us")
    print(f"ratio: {alone / repeated:.3f} (required: within {ALLOWED:.0%} of 1)")
    sys.exit(abs(alone / repeated - 1) > ALLOWED)


if __name__ == "__main__":
    main()
