"""Ranks of MPI with a GPU each: arrays in the first rank's pinned memory, and as the clock that of `mpi`.

A call is over when every rank's GPU has done its part. Ranks of one node take its cards in their order; a rank sees
its own card alone. Only the cards' caches are emptied: what leaves the host is bound by its link to a card, which is
slower than memory, and a host with empty caches would spend the time on fetching Python's own code.
"""

import os

from ladder.devices import card, cuda, host, mpi
from ladder.devices.cuda import (
    clocks,  # noqa: F401
    flusher,  # noqa: F401
    lease,  # noqa: F401
    translate_errors,  # noqa: F401
)
from ladder.devices.host import (
    require_finished,  # noqa: F401
    staging,  # noqa: F401
    to_host,  # noqa: F401
    transfers,  # noqa: F401
    upload,  # noqa: F401
)
from ladder.devices.mpi import (
    broadcast,
    by_rank,  # noqa: F401
    command,  # noqa: F401
    communicator,
    is_first,  # noqa: F401
    launcher_hint,  # noqa: F401
    receive,  # noqa: F401
    share_start,  # noqa: F401
)
from ladder.errors import LadderError
from ladder.machine import nvidia

SHARES_MACHINE = False
CEILINGS = "cuda"


def environment(threads):
    """The variables of MPI's ranks and of a GPU's processes."""
    return mpi.environment(threads) | cuda.environment(threads)


def start(case):
    """Import CuPy and join the other ranks. Raises LadderError where MPI or CuPy isn't installed."""
    cuda.start(case)
    mpi.start(case)


def set_variables(variables):
    """Add the variables to the environment, and of the cards in them keep one, by this rank's number on its node."""
    from mpi4py import MPI

    host.set_variables(variables)
    cards = os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",")
    local_rank = communicator().Split_type(MPI.COMM_TYPE_SHARED).rank
    os.environ["CUDA_VISIBLE_DEVICES"] = cards[local_rank % len(cards)]


def empty(shape, dtype):
    """An array in the host's pinned memory, its contents undefined."""
    cuda.load_cupy()
    import cupyx

    return cupyx.empty_pinned(shape, dtype)


def stopwatch(run):
    """Seconds of one call of `run` and its GPU's work on the slowest rank, all beginning together with idle GPUs."""
    cuda.synchronize()

    def run_and_wait():
        run()
        cuda.synchronize()

    return mpi.stopwatch(run_and_wait)


def threads_found():
    """The first rank's threads, CPUs and card, and a list of every rank's."""
    own = cuda.threads_found()
    return own | {"ranks": communicator().allgather(own)}


def require_threads(case_threads, runtime, found):
    """Refuse a job in which two ranks share a card."""
    cards = [rank["gpu"]["uuid"] for rank in found["ranks"]]
    if shared := len(cards) - len(set(cards)):
        raise LadderError(
            f"{len(cards)} ranks have {len(cards) - shared} cards, so that some share one: give the job a card for "
            "every rank, for example with Slurm's --gpus-per-task=1."
        )


def energy(run):
    """{"joules": energy of a run on all ranks' cards}; empty where one of them doesn't count it."""
    every = communicator().allgather
    if not all(every(nvidia.energy(card.name()) is not None)):
        return {}
    found = every(cuda.energy(run, stopwatch, broadcast))
    return {"joules": sum(one["joules"] for one in found)} if all(found) else {}


def state(run):
    """The first rank's card at work, as in `cuda.state`; all ranks repeat `run` equally often."""
    return cuda.state(run, stopwatch, broadcast)
