"""The clock of a GPU: CUDA events around the work that a run puts into the current stream.

Work in another stream, for which the current one doesn't wait, isn't timed: `require_finished` refuses it. The GPU is
also synchronised after every end event, so that no sample overlaps such work.
"""

import functools
import statistics
import time

from ladder.cuda.gpus import load_cupy, synchronize
from ladder.errors import LadderError

# Long enough to hide a few launches, short compared with a sample.
SPIN_NANOSECONDS = 100_000
SPIN = r"""
extern "C" __global__ void spin(long long nanoseconds) {
  long long start, now;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(start));
  do {
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
  } while (now - start < nanoseconds);
}
"""
# Seconds after the end event that may be a delay of the host, and the number of runs that must all exceed them: a busy
# host is late occasionally, but a variant that leaves work behind does so every time.
MARGIN, RUNS = 50e-6, 10


def stopwatch(run):
    """Seconds of GPU work of `run`, by CUDA events; the time between two events with no work is subtracted."""
    seconds = between_events(run)
    synchronize()
    return max(seconds - event_overhead(), 0.0)


def between_events(run, spin_nanoseconds=SPIN_NANOSECONDS):
    """Seconds from an event before the GPU work of `run` to one after it.

    The launches are queued behind other work, so that their latency is excluded.
    """
    cupy = load_cupy()
    start, end = cupy.cuda.Event(), cupy.cuda.Event()
    spin()((1,), (1,), (spin_nanoseconds,))
    start.record()
    run()
    end.record()
    end.synchronize()
    return cupy.cuda.get_elapsed_time(start, end) * 1e-3


def after_events(run):
    """Seconds for which the GPU keeps working after the event at the end of `run`.

    Nothing is queued before `run`: work in another stream would start and perhaps end meanwhile.
    """
    between_events(run, spin_nanoseconds=0)
    return until_idle()


def until_idle():
    """Seconds until the GPU has finished all work."""
    start = time.perf_counter_ns()
    synchronize()
    return (time.perf_counter_ns() - start) * 1e-9


def require_finished(run):
    """Refuse a run that leaves work in a stream for which the current one doesn't wait. Raises LadderError."""
    for _ in range(RUNS):
        seconds = after_events(run) - idle_overhead()
        if seconds <= MARGIN:
            return
    raise LadderError(
        f"The GPU keeps working for {seconds:.3g} s after the end of a timed run: the variant leaves work in a stream "
        "for which the current one doesn't wait, so it isn't timed. Let the current stream wait for its event."
    )


@functools.cache
def event_overhead():
    """Seconds between two events with nothing between them."""
    return statistics.median(between_events(lambda: None) for _ in range(101))


@functools.cache
def idle_overhead():
    """Seconds that `until_idle` takes on an idle GPU."""
    return statistics.median(until_idle() for _ in range(101))


@functools.cache
def spin():
    """The kernel that waits for a number of nanoseconds."""
    return load_cupy().RawKernel(SPIN, "spin")
