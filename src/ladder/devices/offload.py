"""Arrays in the host's memory and the work on GPUs; timed on the host, from the call to its return.

Copies to the GPUs and back are timed. The GPUs' caches are flushed before; the host's aren't, since its link to a GPU
is slower than its memory.
"""

from ladder.devices import cuda, cuda_clock, host
from ladder.devices.cuda import (
    clocks,  # noqa: F401
    environment,  # noqa: F401
    flusher,  # noqa: F401
    lease,  # noqa: F401
    read_threads,  # noqa: F401
    require_threads,  # noqa: F401
    start,  # noqa: F401
    synchronize,
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

# Copies of other jobs would compete for the host's memory bandwidth.
SHARES_MACHINE = False
CEILINGS = "cuda"
# The share of a call's time for which GPUs may be busy after its end: the driver cleans up after many launches.
SHARE = 0.005


def stopwatch(run):
    """Seconds of one call of `run`, which begins with idle GPUs."""
    synchronize()
    return host.stopwatch(run)


def require_finished(run):
    """Refuse a run that returns while a GPU still works for it. Raises LadderError."""
    for _ in range(cuda_clock.RUNS):
        allowed = cuda_clock.MARGIN + SHARE * stopwatch(run)
        seconds = cuda_clock.until_idle() - cuda_clock.idle_overhead()
        if seconds <= allowed:
            return
    raise LadderError(
        f"The GPU keeps working for {seconds:.3g} s after the end of a timed run, so its results aren't complete: "
        "wait for the last copy before the run ends."
    )


def energy(run):
    """The energy and the seconds of a run, as in `cuda.energy`."""
    return cuda.energy(run, stopwatch)


def state(run):
    """The state of the first GPU at work, as in `cuda.state`."""
    return cuda.state(run, stopwatch)
