"""MPI ranks with a GPU each: arrays in the first rank's pinned memory, and the clock of `mpi`.

A call ends when every rank's GPU has done its part. The ranks of a node use its GPUs in order; each rank sees only its
own GPU. Only the GPUs' caches are flushed. Flushing the host's caches wouldn't matter to its data, since the link to a
GPU is slower than memory, but would slow down the Python code, which would have to be fetched again.

Ranks on the first rank's node may work in its arrays (`shared`): sending pictures as MPI messages would take longer
than computing them. The arrays lie in unnamed files, which other processes open through /proc. MPI's own shared memory
is unsuitable: all ranks must allocate it together, while only the first creates arrays. A named file would outlive
killed ranks.
"""

from __future__ import annotations

import functools
import math
import mmap
import os
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ladder import cuda
from ladder.cuda import gpus
from ladder.devices.gpu import Gpu
from ladder.devices.mpi import Mpi, communicator
from ladder.errors import LadderError, pluralize
from ladder.machine import description, nvidia
from ladder.records.case import Case

if TYPE_CHECKING:
    from numpy.typing import DTypeLike


class MpiCuda(Mpi, Gpu):
    """The ranks that a launcher has started, with a GPU each."""

    def start(self, case: Case) -> None:
        """Import CuPy and join the other ranks. Raises LadderError if MPI or CuPy isn't installed."""
        Gpu.start(self, case)
        Mpi.start(self, case)

    def set_variables(self, variables: Mapping[str, str]) -> None:
        """Add the variables to the environment, and select one GPU by this rank's number on its node.

        The leased GPUs are those of one node; a rank on another node chooses among all GPUs that it may use. Raises
        LadderError if two ranks would share a GPU.
        """
        uuids = [gpu["uuid"] for gpu in nvidia.gpus()]
        super().set_variables(variables)
        leased = os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",")
        usable_uuids = [uuid for uuid in uuids if uuid in leased] or uuids or leased
        uuid = os.environ["CUDA_VISIBLE_DEVICES"] = usable_uuids[node_communicator().rank % len(usable_uuids)]
        require_distinct(communicator().allgather((description.node(), uuid)))

    def start_together(self) -> None:
        """Start this rank's GPU, which only the first rank's arrays have done, and wait for the other ranks."""
        gpus.synchronize()
        super().start_together()

    def empty(self, shape: tuple[int, ...], dtype: DTypeLike) -> Any:
        """An array in pinned host memory that ranks on this node can share, its contents undefined."""
        file = os.memfd_create("ladder")
        os.ftruncate(file, max(1, math.prod(shape) * np.dtype(dtype).itemsize))
        return map_array(file, shape, dtype)

    def map_shared(self, array: Any) -> Any:
        """The first rank's `array`, created by `empty`, mapped into every rank of its node; None on other nodes.

        All ranks must call this; only the first rank's argument is used. After a barrier, a rank's writes are visible
        to the others. Raises LadderError if a rank of the node can't map it.
        """
        world = communicator()
        is_first = self.is_first()
        header = (os.getpid(), file := array.base.file, os.fstat(file), array.shape, array.dtype) if is_first else None
        process, file, status, *shape_and_dtype = world.bcast(header)
        shares_node = 0 in node_communicator().allgather(world.rank)
        if is_first or not shares_node:
            return array if is_first else None
        try:
            descriptor = os.open(f"/proc/{process}/fd/{file}", os.O_RDWR)
        except OSError:
            descriptor = None
        if descriptor is None or not os.path.samestat(os.fstat(descriptor), status):
            raise LadderError(
                f"Rank {world.rank} can't map the memory of the first rank, process {process} of its node: start the "
                "ranks of a node as one user, and in one container."
            )
        return map_array(descriptor, *shape_and_dtype)

    def stopwatch(self, run: Callable[[], object]) -> float:
        """Seconds of one call of `run` and its GPU work on the slowest rank; all start together, with idle GPUs."""
        gpus.synchronize()

        def run_and_wait() -> None:
            run()
            gpus.synchronize()

        return super().stopwatch(run_and_wait)

    def flusher(self) -> Callable[[], None]:
        """A function that flushes the L2 cache of this rank's GPU, and none of the host's."""
        return Gpu.flusher(self)

    def require_threads(self, case_threads: int, runtime: str | None, threads: Mapping[str, Any]) -> None:
        """Refuse a job in which two ranks share a GPU."""
        require_distinct([rank["gpu"]["uuid"] for rank in threads["ranks"]])

    def energy(self, run: Callable[[], object]) -> dict[str, float]:
        """The energy of a run on the GPUs of all ranks, as in `Gpu.energy`; empty if a GPU has no counter."""
        gather = communicator().allgather
        if not all(gather(gpus.energy() is not None)):
            return {}
        ranks = gather(super().energy(run))
        if not all(ranks):
            return {}
        return {"joules": sum(rank["joules"] for rank in ranks), "sustained": max(rank["sustained"] for rank in ranks)}


@functools.cache
def node_communicator() -> Any:
    """The communicator of the ranks on this rank's node, in their order."""
    from mpi4py import MPI

    return communicator().Split_type(MPI.COMM_TYPE_SHARED)


def require_distinct(gpus: Sequence[Any]) -> None:
    """Refuse ranks that share a GPU; `gpus` are those of all ranks."""
    if (count := len(set(gpus))) < len(gpus):
        raise LadderError(
            f"{len(gpus)} ranks have {pluralize(count, 'GPU')}, so some share one: give the job a GPU for every rank, "
            "for example with Slurm's --gpus-per-task=1."
        )


class Memory(mmap.mmap):
    """A memory map of an open file, whose descriptor is the attribute `file`."""

    file: int


def map_array(file: int, shape: tuple[int, ...], dtype: DTypeLike) -> np.ndarray:
    """A page-locked array in an open file; the file is closed when the array is deleted."""
    memory = Memory(file, os.fstat(file).st_size)
    memory.file = file
    weakref.finalize(memory, os.close, file)
    array = np.ndarray(shape, dtype, memory)
    if array.nbytes:
        cuda.lock_pages(array)
    return array
