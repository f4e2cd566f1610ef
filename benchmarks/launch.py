"""Test that the harness times a short kernel without its launch latency.

    python benchmarks/launch.py

Times a product of some microseconds on a GPU twice: one launch at a time, by the harness's stopwatch, and as the slope
from 200 launches in a row to 400, which are all queued before the first begins, however slow the host is. Exits with 1
if the two times differ by more than 10 %.
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
LAUNCHES = 200  # of the shorter batch; the other has twice as many
SLACK = 2  # the GPU's wait before a batch begins, as a multiple of the host's time to queue the batch
SINGLE_TIMINGS, BATCH_TIMINGS = 500, 20  # timings of a single launch, and of a batch
MAX_DIFFERENCE = 0.1  # relative


def product_times():
    """Median seconds of the product: launched alone, by the stopwatch, and in a batch."""
    workload, device = workloads.load(CASE.workload), devices.of(CASE)
    problem = worker.make_problem(workload, CASE, device)
    staged = device.staging_arrays(problem.inputs)
    workload.fill(staged, CASE.sizes, 0, None)
    device.upload(staged, problem.inputs)
    run = workloads.load_variant(CASE.workload, CASE.variant).setup(problem, **CASE.tuning)
    batches = [batch(run, count) for count in (LAUNCHES, 2 * LAUNCHES)]
    timings = (partial(clock.time_between_events, launch, SLACK * queue_nanoseconds(launch)) for launch in batches)
    short, long = (median_of(timing, BATCH_TIMINGS) for timing in timings)
    slope = (long - short) / LAUNCHES  # the time of each further launch
    return median_of(partial(device.stopwatch, run), SINGLE_TIMINGS), slope


def batch(run, count):
    """A function that launches the product `count` times."""
    return lambda: [run() for _ in range(count)]


def queue_nanoseconds(launch):
    """The longest time in which the host queues a batch's launches, after a warm-up."""
    launch()
    return int(max(timeit.repeat(launch, cuda.synchronize, number=1, repeat=5)) * 1e9)


def median_of(timing, count):
    """The median of `count` calls of `timing`, which returns seconds, after a warm-up."""
    timing()
    return median(timing() for _ in range(count))


def main():
    device = devices.of(CASE)
    try:
        with locks.timing_lock(shared=True), device.lease() as variables:
            os.environ.update(device.environment(1) | variables)
            single, batched = product_times()
    except LadderError as error:
        sys.exit(f"launch: {error}")
    print(CASE.key)
    print(f"launched alone, by the stopwatch: {1e6 * single:.2f} us")
    print(f"each launch of a batch: {1e6 * batched:.2f} us")
    print(f"ratio: {single / batched:.3f} (required: within {MAX_DIFFERENCE:.0%} of 1)")
    sys.exit(abs(single / batched - 1) > MAX_DIFFERENCE)


if __name__ == "__main__":
    main()
