"""The caller's arrays in the host's memory and the work on cards: the time is the host's, from the call to its end.

What a call copies to the cards and back is inside the clock. The cards' caches are emptied before; the host's aren't,
since its link to a card is slower than its memory.
"""

from ladder.devices import cuda, cuda_clock, host
from ladder.devices.cuda import (
    clocks,  # noqa: F401
    environment,  # noqa: F401
    flusher,  # noqa: F401
    lease,  # noqa: F401
    require_threads,  # noqa: F401
    start,  # noqa: F401
    synchronize,
    threads_found,  # noqa: F401
    translate_errors,  # noqa: F401
)
from ladder.devices.host import (
    broadcast,  # noqa: F401
    by_rank,  # noqa: F401
    command,  # noqa: F401
    conditions,  # noqa: F401
    empty,  # noqa: F401
    is_first,  # noqa: F401
    launcher_hint,  # noqa: F401
    receive,  # noqa: F401
    set_variables,  # noqa: F401
    share_start,  # noqa: F401
    staging,  # noqa: F401
    to_host,  # noqa: F401
    transfers,  # noqa: F401
    upload,  # noqa: F401
)
from ladder.errors import LadderError

# Another job's copies would take from the host's memory what these need.
SHARES_MACHINE = False
CEILINGS = "cuda"
# The part of a call's time for which cards may be busy after its end: the driver clears up behind many launches.
SHARE = 0.005


def stopwatch(run):
    """Seconds of one call of `run`, which begins with idle cards."""
    synchronize()
    return host.stopwatch(run)


def require_finished(run):
    """Refuse a run that comes back while a card still works for it. Raises LadderError."""
    for _ in range(cuda_clock.RUNS):
        allowed = cuda_clock.MARGIN + SHARE * stopwatch(run)
        seconds = cuda_clock.until_idle() - cuda_clock.idle_overhead()
        if seconds <= allowed:
            return
    raise LadderError(
        f"The GPU works on for {seconds:.3g} s after the end of a timed run, so that its results aren't there yet: "
        "wait for the last copy before the run ends."
    )


def energy(run):
    """The energy and the seconds of a run, as in `cuda.energy`."""
    return cuda.energy(run, stopwatch)


def state(run):
    """The first card at work, as in `cuda.state`."""
    return cuda.state(run, stopwatch)
