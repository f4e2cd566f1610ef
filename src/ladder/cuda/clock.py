"""The clock of a GPU: CUDA events before and after the work that a run puts into the current stream.

Work in another stream isn't timed unless the current stream waits for it: `require_finished` refuses such a run. The
GPU is also synchronised after every end event, so that no sample overlaps such work.
"""

import functools
import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any

from ladder.cuda.gpus import load_cupy, synchronize
from ladder.errors import LadderError

# How long the spin kernel before a timed run takes: enough to hide a few launches, little compared with a sample.
SPIN_NANOSECONDS = 100_000
SPIN_SOURCE = r"""
extern "C" __global__ void spin(long long nanoseconds) {
  long long start, now;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(start));
  do {
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
  } while (now - start < nanoseconds);
}
"""
# A variant is refused if the GPU keeps working after the end of a run for more than MAX_EXTRA_SECONDS plus
# MAX_EXTRA_SHARE of the run's time, in each of at least MIN_RUNS runs during at least MIN_SECONDS. Delays by a busy
# host, or by the driver, which cleans up after many launches or a large graph, end earlier; work left behind recurs.
MAX_EXTRA_SECONDS, MAX_EXTRA_SHARE, MIN_RUNS, MIN_SECONDS = 50e-6, 0.005, 10, 0.5
OVERHEAD_RUNS = 101  # measurements; an overhead of the clock is their median


def stopwatch(run: Callable[[], object]) -> float:
    """Seconds of GPU work of `run`, by CUDA events; the time between two events with no work is subtracted."""
    seconds = time_between_events(run)
    synchronize()
    return max(seconds - event_overhead(), 0.0)


def time_between_events(run: Callable[[], object], spin_nanoseconds: int = SPIN_NANOSECONDS) -> float:
    """Seconds from an event before the GPU work of `run` to one after it.

    The launches are queued behind other work, so that their latency is excluded.
    """
    cupy = load_cupy()
    start, end = cupy.cuda.Event(), cupy.cuda.Event()
    spin_kernel()((1,), (1,), (spin_nanoseconds,))
    start.record()
    run()
    end.record()
    end.synchronize()
    return cupy.cuda.get_elapsed_time(start, end) * 1e-3


def time_until_idle() -> float:
    """Seconds until the GPU has finished all work."""
    start = time.perf_counter_ns()
    synchronize()
    return (time.perf_counter_ns() - start) * 1e-9


def attempts() -> Iterator[int]:
    """Yield the numbers of the runs, MIN_RUNS or more, after which a variant that leaves work behind is refused."""
    start = time.perf_counter()
    number = 0
    while number < MIN_RUNS or time.perf_counter() - start < MIN_SECONDS:
        yield number
        number += 1


def require_finished(run: Callable[[], object]) -> None:
    """Refuse a run that leaves work in a stream for which the current one doesn't wait. Raises LadderError.

    No spin kernel runs before `run`: meanwhile work in another stream would start, and perhaps end.
    """
    for _ in attempts():
        max_seconds = MAX_EXTRA_SECONDS + MAX_EXTRA_SHARE * time_between_events(run, spin_nanoseconds=0)
        seconds = time_until_idle() - idle_overhead()
        if seconds <= max_seconds:
            return
    raise LadderError(
        f"The GPU keeps working for {seconds:.3g} s after the end of a timed run: the variant leaves work in a stream "
        "for which the current one doesn't wait, so it isn't timed. Let the current stream wait for its event."
    )


@functools.cache
def event_overhead() -> float:
    """Seconds between two events with nothing between them."""
    return statistics.median(time_between_events(lambda: None) for _ in range(OVERHEAD_RUNS))


@functools.cache
def idle_overhead() -> float:
    """Seconds that `time_until_idle` returns on an idle GPU."""
    return statistics.median(time_until_idle() for _ in range(OVERHEAD_RUNS))


@functools.cache
def spin_kernel() -> Any:
    """The kernel that spins for a number of nanoseconds."""
    return load_cupy().RawKernel(SPIN_SOURCE, "spin")
