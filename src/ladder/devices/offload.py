"""Arrays in host memory, work on GPUs; timed on the host, from the call to its return.

The time includes copies to the GPUs and back. Before a sample with cold caches, only the L2 cache of the current GPU is
flushed: not those of the other GPUs, nor the host's caches, since the link to a GPU is slower than the host's memory.
"""

from collections.abc import Callable

from ladder.cuda import clock, gpus
from ladder.devices.gpu import Gpu
from ladder.errors import LadderError


class Offload(Gpu):
    """As many GPUs as the tuning `gpus` says."""

    SHARES_MACHINE = False  # copies of other jobs would compete for the host's memory bandwidth

    def stopwatch(self, run: Callable[[], object]) -> float:
        """Seconds of one call of `run`, which begins with idle GPUs."""
        gpus.synchronize()
        return super().stopwatch(run)

    def require_finished(self, run: Callable[[], object]) -> None:
        """Refuse a run that returns while a GPU still works for it. Raises LadderError."""
        for _ in clock.attempts():
            max_seconds = clock.MAX_EXTRA_SECONDS + clock.MAX_EXTRA_SHARE * self.stopwatch(run)
            seconds = clock.time_until_idle() - clock.idle_overhead()
            if seconds <= max_seconds:
                return
        raise LadderError(
            f"The GPU keeps working for {seconds:.3g} s after the end of a timed run, so its results aren't complete: "
            "wait for the last copy before the run ends."
        )
