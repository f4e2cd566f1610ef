"""MPI ranks on the host: arrays in the first rank's memory, and the time of the slowest rank after a barrier.

A launcher starts the ranks, as in `mpiexec -n 2`; a single rank needs no launcher. The first rank talks to the harness,
and creates and checks the arrays; the other ranks only hold what a variant sends them.
"""

import functools
import math
import os
import shlex
import shutil
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from ladder.devices.host import AFFINITY, Host
from ladder.errors import LadderError, pluralize
from ladder.machine import caches, description, processes
from ladder.records.case import Case

# Without the last two, Open MPI 4 and 5 would bind each rank, with all its threads: to one core for up to two ranks,
# else to a socket or a NUMA node.
OPEN_MPI_VARIABLES = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_hwloc_base_binding_policy": "none",
    "PRTE_MCA_hwloc_default_binding_policy": "none",
}
# Open MPI requires a remote shell, even to start ranks on its own node, where it never calls one: `false` stands in.
NO_REMOTE_SHELL = {"OMPI_MCA_plm_rsh_agent": "false", "PRTE_MCA_plm_ssh_agent": "false"}
# Without these, ranks started by srun would wait for a rank that has failed or has ended silently.
SLURM_VARIABLES = {"SLURM_KILL_BAD_EXIT": "1", "SLURM_WAIT": "30"}
# Inside a Slurm job on one node, the mpiexec of MPICH or Intel would start its ranks with another srun, for which no
# cores may be free.
LOCAL_LAUNCH = {"HYDRA_LAUNCHER": "fork", "I_MPI_HYDRA_BOOTSTRAP": "fork"}
# The variables by which a user selects how the mpiexec of MPICH or Intel starts its ranks.
BOOTSTRAP_VARIABLES = ("HYDRA_LAUNCHER", "HYDRA_BOOTSTRAP", "I_MPI_HYDRA_BOOTSTRAP")
# The folder through which the ranks of a node exchange data, and the MB required there. MPICH 5 needs 5 MB for a group
# and 5.4 MB for each rank (measured); with less it uses the network, or is killed by a signal.
SHARED_MEMORY = Path("/dev/shm")
MB_PER_GROUP, MB_PER_RANK = 8, 6
# The files required there. MPICH 5 creates 6 for 2 ranks, 10 for 4, 20 for 8 (measured).
FILES_PER_GROUP, FILES_PER_RANK = 4, 2
# The variables in which launchers tell a rank the number of ranks on its node.
NODE_SIZE_VARIABLES = ("MPI_LOCALNRANKS", "OMPI_COMM_WORLD_LOCAL_SIZE")
ORDER_TAG = 1  # the tag of messages that pass on an order of the harness
# The maximum time between two polls for an order, in seconds: waiting ranks must not use the cores of timed ranks.
MAX_PAUSE = 0.5
CONCURRENT_LAUNCHERS = ("mpiexec", "mpirun")  # of these, several processes may run at the same time


class Mpi(Host):
    """The ranks that a launcher has started."""

    def __init__(self) -> None:
        self.last_seconds: list[float] = []  # seconds by rank of the last timed call

    def communicator(self) -> Any:
        """The communicator of all ranks, for variants. Raises LadderError if there is no MPI."""
        return communicator()

    def command(
        self, case: Case, launcher: str | None, environment: Mapping[str, str] = MappingProxyType({})
    ) -> list[str]:
        """The command that starts a worker's ranks, before the worker's own. Raises LadderError without a launcher."""
        if case.ranks == 1:
            return []
        if not launcher:
            raise LadderError(
                f"{case.key} runs on {case.ranks} ranks, but there is no MPI launcher: name one with "
                "`--launcher mpiexec`, or with the key `mpi` of the configuration."
            )
        words = shlex.split(launcher)
        if not shutil.which(words[0]):
            raise LadderError(
                f"The launcher {words[0]!r} can't be started: there is no such program. "
                "Name another with the key `mpi`."
            )
        if Path(words[0]).name in CONCURRENT_LAUNCHERS:
            require_srun(words[0], environment)
        return [*words, "-n", str(case.ranks)]

    def can_start_together(self, case: Case, launcher: str | None, count: int) -> bool:
        """Whether `count` workers of a case, each a group of ranks, may be started at once.

        With mpiexec or mpirun they may, if there is enough shared memory. In a Slurm job, or with launchers such as
        srun and jsrun, a group would wait for the cores and GPUs of the group before it.
        """
        program, *_ = shlex.split(launcher or "") or [""]
        has_memory = free_memory() >= count * required_memory(case.ranks)
        return case.ranks == 1 or (
            not description.slurm() and Path(program).name in CONCURRENT_LAUNCHERS and has_memory
        )

    def launcher_hint(self) -> str:
        """A question that tells users what to check if a launcher's ranks never become ready."""
        slurm_clause = ", and may it start ranks inside this Slurm job" if description.slurm() else ""
        return f"does the launcher, the key `mpi`, belong to the MPI that mpi4py loads{slurm_clause}?"

    def environment(self, threads: int, overrides: Mapping[str, str] = MappingProxyType({})) -> dict[str, str]:
        """The variables of a process, and those of launchers.

        Open MPI's launcher may run as root, as in a container, and binds nothing.
        """
        local_launch = LOCAL_LAUNCH if nodes_of_job() == 1 and not selects_bootstrap(overrides) else {}
        no_shell = {} if shutil.which("ssh") or shutil.which("rsh") else NO_REMOTE_SHELL
        return super().environment(threads, overrides) | OPEN_MPI_VARIABLES | SLURM_VARIABLES | local_launch | no_shell

    def start(self, case: Case) -> None:
        """Join the other ranks. Raises LadderError if there is no MPI, or if it isn't that of the launcher."""
        processes.die_with_parent(os.getppid())
        if communicator().size != case.ranks:
            raise LadderError(
                f"The launcher has started {pluralize(case.ranks, 'process')}, but MPI has "
                f"{pluralize(communicator().size, 'rank')}: the launcher doesn't belong to the MPI that mpi4py "
                "loads. Name the right one with the key `mpi`."
            )
        communicator().Barrier()  # the first rank is ready when all are

    def receive(self) -> str:
        """The harness's next line, for every rank; empty at the end of its messages."""
        world = communicator()
        if self.is_first():
            line = sys.stdin.readline()
            for rank in range(1, world.size):
                world.send(line, rank, ORDER_TAG)
            return line
        pause = 1e-3
        while not world.iprobe(0, ORDER_TAG):
            time.sleep(pause)
            pause = min(2 * pause, MAX_PAUSE)
        return world.recv(source=0, tag=ORDER_TAG)

    def start_together(self) -> None:
        """Wait for the ranks that still sleep in `receive`."""
        communicator().Barrier()

    def is_first(self) -> bool:
        """Whether this rank has the arrays and talks to the harness."""
        return communicator().rank == 0

    def broadcast(self, value: Any) -> Any:
        """The first rank's value."""
        return communicator().bcast(value)

    def stopwatch(self, run: Callable[[], object]) -> float:
        """Seconds of one call of `run` on the slowest rank; all ranks start together."""
        world = communicator()
        world.Barrier()
        start = time.perf_counter_ns()
        run()
        self.last_seconds = world.allgather((time.perf_counter_ns() - start) * 1e-9)
        return max(self.last_seconds)

    def seconds_by_rank(self) -> list[float]:
        """Seconds by rank of the last timed call."""
        return list(self.last_seconds)

    def flusher(self) -> Callable[[], None]:
        """A function that flushes this rank's share of the node's caches; all its ranks must call theirs at once."""
        world = communicator()
        ranks = world.allgather((description.node(), sorted(AFFINITY)))
        ranks_on_node = sum(node == description.node() for node, _ in ranks)
        return caches.flusher(share_of_cpus(ranks, world.rank), ranks_on_node)

    def read_threads(self) -> dict[str, Any]:
        """This rank's threads and CPUs, and a list of those of every rank; all ranks must call it at once."""
        threads = super().read_threads()
        return threads | {"ranks": communicator().allgather(threads)}

    def require_threads(self, case_threads: int, runtime: str | None, threads: Mapping[str, Any]) -> None:
        """Refuse a job in which this rank has other threads than the case, or fewer CPUs."""
        rank = communicator().rank
        rank_threads = threads["ranks"][rank]
        if rank_threads["cpus"] < case_threads:
            raise LadderError(
                f"Rank {rank} has {pluralize(case_threads, 'thread')}, but may only use "
                f"{pluralize(rank_threads['cpus'], 'CPU')}: have the launcher, the key `mpi` of the configuration, "
                "bind it to as many cores, or to none."
            )
        super().require_threads(case_threads, runtime, rank_threads)

    def conditions(self) -> dict[str, Any]:
        """The conditions under which the ranks run, as `merge_conditions` joins them."""
        return merge_conditions(communicator().allgather(super().conditions()))


def nodes_of_job() -> int:
    """The number of nodes of this Slurm job; 0 outside of one."""
    slurm = description.slurm()
    count = slurm.get("SLURM_JOB_NUM_NODES") or slurm.get("SLURM_NNODES") or ""
    return int(count) if count.isdecimal() else 0


def selects_bootstrap(variables: Mapping[str, str]) -> bool:
    """Whether one of these variables selects how an mpiexec starts its ranks."""
    return any(name in variables for name in BOOTSTRAP_VARIABLES)


def require_srun(launcher: str, environment: Mapping[str, str]) -> None:
    """Raises LadderError if a launcher in this environment would hang because there is no `srun`."""
    if nodes_of_job() > 1 and not selects_bootstrap(environment) and not shutil.which("srun"):
        raise LadderError(
            f"{launcher} starts the ranks of a Slurm job on {nodes_of_job()} nodes by `srun`, which isn't on the PATH: "
            "put it there, or request a job on one node, or set HYDRA_BOOTSTRAP with the key `environment` of the "
            "configuration."
        )


def free_memory() -> float:
    """The free MB of the file system SHARED_MEMORY; 0 if it is missing."""
    try:
        status = os.statvfs(SHARED_MEMORY)
    except OSError:
        return 0
    return status.f_bavail * status.f_frsize / 1e6


def free_files() -> float:
    """The number of files that can still be created in SHARED_MEMORY; infinite if the file system has no limit."""
    status = os.statvfs(SHARED_MEMORY)
    return status.f_favail if status.f_files else math.inf


def required_memory(ranks: int) -> int:
    """The MB of shared memory required by a group with this number of ranks on a node."""
    return MB_PER_GROUP + MB_PER_RANK * ranks


@functools.cache
def require_memory() -> None:
    """Raises LadderError, before MPI starts, if shared memory lacks space or inodes for the ranks on this node."""
    ranks = next((int(os.environ[name]) for name in NODE_SIZE_VARIABLES if name in os.environ), 1)
    if ranks == 1:
        return
    subject = f"{SHARED_MEMORY}, through which the ranks of a node exchange data,"
    if not SHARED_MEMORY.is_dir():
        raise LadderError(f"{subject} is missing: mount it (`mount -t tmpfs tmpfs {SHARED_MEMORY}`).")
    free, needed = free_memory(), required_memory(ranks)
    if free < needed:
        raise LadderError(
            f"{subject} has {free:.0f} MB free, but {ranks} ranks need {needed}: enlarge it (`mount -o "
            f"remount,size=1G {SHARED_MEMORY}`, `docker run --shm-size=1g`), or delete the files that "
            "killed programs have left there."
        )
    files, needed = free_files(), FILES_PER_GROUP + FILES_PER_RANK * ranks
    if files < needed:
        raise LadderError(
            f"{subject} has room for only {files} of the {needed} files of {ranks} ranks (too few inodes are free): "
            f"allow more (`mount -o remount,nr_inodes=0 {SHARED_MEMORY}`), or delete the files that "
            "killed programs have left there."
        )


def communicator() -> Any:
    """The communicator of all ranks. Raises LadderError if there is no MPI."""
    require_memory()
    try:
        from mpi4py import MPI
    except ImportError as error:
        raise LadderError(f"MPI can't be used: {error}. `pip install mpi4py mpich` installs it.") from None
    except RuntimeError as error:  # mpi4py is installed, but no MPI library
        first_line = str(error).splitlines()[0]
        raise LadderError(f"mpi4py finds no MPI ({first_line}): `pip install mpich` installs one.") from None
    return MPI.COMM_WORLD


def share_of_cpus(ranks: Sequence[tuple[str, list[int]]], rank: int) -> list[int]:
    """A rank's fair share, perhaps empty, of the CPUs that ranks of its node may use; `ranks` are (node, CPUs)."""
    ranks_by_cpu: dict[int, list[int]] = {}
    for other_rank, (node, cpus) in enumerate(ranks):  # the number of a rank that may use these CPUs
        if node == ranks[rank][0]:
            for cpu in cpus:
                ranks_by_cpu.setdefault(cpu, []).append(other_rank)
    return [cpu for i, cpu in enumerate(sorted(ranks_by_cpu)) if ranks_by_cpu[cpu][i % len(ranks_by_cpu[cpu])] == rank]


def merge_conditions(ranks: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The conditions of several ranks, {fact: value}; the value of a fact in which they differ is a text with all."""
    facts = dict.fromkeys(fact for conditions in ranks for fact in conditions)
    values = {fact: list(dict.fromkeys(rank[fact] for rank in ranks if fact in rank)) for fact in facts}
    return {fact: items[0] if len(items) == 1 else ", ".join(map(str, items)) for fact, items in values.items()}
