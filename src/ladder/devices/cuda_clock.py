"""The clock of a GPU: CUDA events around what a run puts into the current stream.

Work that a run leaves in another stream, which the current one doesn't wait for, isn't timed: `require_finished`
refuses it. The card is synchronised after every end event, too, so that no sample meets such work.
"""

import functools
import statistics
import time

from ladder.devices.card import load_cupy, synchronize
from ladder.errors import LadderError

# Long enough to hide a few launches, short enough to cost a sample little.
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
# Seconds after the end event that may be the host's own delay, and the runs that must all exceed them: a busy host
# may be late now and then, while a variant leaves its work behind every time.
MARGIN, RUNS = 50e-6, 10


def stopwatch(run):
    """Seconds of what `run` has the GPU do, by CUDA events; what two events cost with nothing between is subtracted."""
    seconds = between_events(run)
    synchronize()
    return max(seconds - event_overhead(), 0.0)


def between_events(run, spin_nanoseconds=SPIN_NANOSECONDS):
    """Seconds from an event before to one after what `run` has the GPU do.

    The GPU is kept busy until the launches are queued, so that a short kernel's time is its own and not the host's.
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
    """Seconds that the GPU works on after the event at the end of `run`.

    Nothing keeps the GPU busy before: another stream's work would begin and maybe end meanwhile.
    """
    between_events(run, spin_nanoseconds=0)
    return until_idle()


def until_idle():
    """Seconds until the GPU has finished all work given to it."""
    start = time.perf_counter_ns()
    synchronize()
    return (time.perf_counter_ns() - start) * 1e-9


def require_finished(run):
    """Refuse a run that leaves work in a stream which the current one doesn't wait for. Raises LadderError."""
    for _ in range(RUNS):
        seconds = after_events(run) - idle_overhead()
        if seconds <= MARGIN:
            return
    raise LadderError(
        f"The GPU works on for {seconds:.3g} s after the end of a timed run: the variant leaves work in a stream that "
        "the current one doesn't wait for, where it isn't timed. Let the current stream wait for its event."
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
    """The kernel that does nothing for some nanoseconds."""
    return load_cupy().RawKernel(SPIN, "spin")
