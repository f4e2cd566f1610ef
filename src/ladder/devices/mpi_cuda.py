"""Ranks of MPI with a GPU each: arrays in the first rank's pinned memory, and as the clock that of `mpi`.

A call is over when every rank's GPU has done its part. Ranks of one node take its cards in their order; a rank sees
its own card alone. Only the cards' caches are emptied: what leaves the host is bound by its link to a card, which is
slower than memory, and a host with empty caches would spend the time on fetching Python's own code.

Ranks beside the first one may work in its arrays (`shared`): sending pictures by MPI's messages would take longer than
drawing them. These lie in files without a name, which a process opens
by way of /proc: MPI's own shared memory is made by all ranks together, while only the first one makes arrays, and a
file with a name would outlive ranks that are killed.
"""

import functools
import math
import mmap
import os
import weakref

import numpy as np

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
    conditions,  # noqa: F401
    is_first,
    launcher_hint,  # noqa: F401
    receive,  # noqa: F401
    share_start,  # noqa: F401
)
from ladder.errors import LadderError
from ladder.machine import description, nvidia

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
    """Add the variables to the environment, and of the cards keep one, by this rank's number on its node.

    The leased cards are those of one node; a rank of another takes from all that it may use. Raises LadderError where
    two ranks would share a card.
    """
    here = [found["uuid"] for found in nvidia.gpus()]
    host.set_variables(variables)
    leased = os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",")
    cards = [one for one in here if one in leased] or here or leased
    own = os.environ["CUDA_VISIBLE_DEVICES"] = cards[neighbours().rank % len(cards)]
    require_own(communicator().allgather((description.node(), own)))


@functools.cache
def neighbours():
    """The communicator of the ranks on this rank's node, in their order."""
    from mpi4py import MPI

    return communicator().Split_type(MPI.COMM_TYPE_SHARED)


def require_own(cards):
    """Refuse ranks that share a card; `cards` are those of all ranks."""
    if shared := len(cards) - len(set(cards)):
        raise LadderError(
            f"{len(cards)} ranks have {len(cards) - shared} cards, so that some share one: give the job a card for "
            "every rank, for example with Slurm's --gpus-per-task=1."
        )


class Memory(mmap.mmap):
    """Memory in an open file, whose number is `file`."""


def empty(shape, dtype):
    """An array in the host's pinned memory that ranks beside this one can share, its contents undefined."""
    file = os.memfd_create("ladder")
    os.ftruncate(file, max(1, math.prod(shape) * np.dtype(dtype).itemsize))
    return mapped(file, shape, dtype)


def mapped(file, shape, dtype):
    """An array in an open file, page-locked, which is closed when the array is gone."""
    memory = Memory(file, os.fstat(file).st_size)
    memory.file = file
    weakref.finalize(memory, os.close, file)
    array = np.ndarray(shape, dtype, memory)
    if array.nbytes:
        cuda.lock_pages(array)
    return array


def shared(array):
    """The first rank's `array`, one of `empty`, as all ranks of its node may use it; None on other nodes.

    All ranks take part; what the others give counts for nothing. A rank's work in it is done for the others after a
    barrier. Raises LadderError where a rank of the node can't reach it.
    """
    world = communicator()
    told = (os.getpid(), file := array.base.file, os.fstat(file), array.shape, array.dtype) if is_first() else None
    process, file, status, *kind = world.bcast(told)
    is_here = 0 in neighbours().allgather(world.rank)
    if is_first() or not is_here:
        return array if is_first() else None
    try:
        found = os.open(f"/proc/{process}/fd/{file}", os.O_RDWR)
    except OSError:
        found = None
    if found is None or not os.path.samestat(os.fstat(found), status):
        raise LadderError(
            f"Rank {world.rank} can't reach the memory of the first rank, process {process} of its node: start the "
            "ranks of a node as one user, and in one container."
        )
    return mapped(found, *kind)


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
    require_own([rank["gpu"]["uuid"] for rank in found["ranks"]])


def energy(run):
    """What `cuda.energy` finds, with the energy of all ranks' cards; empty where one of them doesn't count it."""
    every = communicator().allgather
    if not all(every(card.energy() is not None)):
        return {}
    found = every(cuda.energy(run, stopwatch, broadcast))
    if not all(found):
        return {}
    return {"joules": sum(one["joules"] for one in found), "sustained": max(one["sustained"] for one in found)}


def state(run):
    """The first rank's card at work, as in `cuda.state`; all ranks repeat `run` equally often."""
    return cuda.state(run, stopwatch, broadcast)
