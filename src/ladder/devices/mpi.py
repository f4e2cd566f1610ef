"""Ranks of MPI on the host: arrays in the first rank's memory, and as the clock the slowest rank between two barriers.

A launcher starts the ranks, as in `mpiexec -n 2`; one rank needs none. The first rank talks to the harness, makes and
checks the arrays; the others hold only what a variant gives them.
"""

import functools
import math
import os
import shlex
import shutil
import sys
import time
from pathlib import Path

from ladder.devices import host
from ladder.devices.host import (
    clocks,  # noqa: F401
    empty,  # noqa: F401
    energy,  # noqa: F401
    lease,  # noqa: F401
    require_finished,  # noqa: F401
    set_variables,  # noqa: F401
    staging,  # noqa: F401
    state,  # noqa: F401
    to_host,  # noqa: F401
    transfers,  # noqa: F401
    translate_errors,  # noqa: F401
    upload,  # noqa: F401
)
from ladder.errors import LadderError
from ladder.machine import caches, description, processes

SHARES_MACHINE = False
CEILINGS = "host"
# Versions 4 and 5 would bind a rank, and all its threads with it, to one core.
OPEN_MPI = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_hwloc_base_binding_policy": "none",
    "PRTE_MCA_hwloc_default_binding_policy": "none",
}
# Without a program for remote shells Open MPI doesn't even start ranks of its own node: this one is never called there.
NO_REMOTE_SHELL = {"OMPI_MCA_plm_rsh_agent": "false", "PRTE_MCA_plm_ssh_agent": "false"}
# An srun would let the others wait for a rank that has failed, or has ended without a message.
SLURM = {"SLURM_KILL_BAD_EXIT": "1", "SLURM_WAIT": "30"}
# Inside a job of Slurm on one node an mpiexec of MPICH or Intel would start its ranks by an srun of its own, for which
# the job may have no cores left.
OWN_NODE = {"HYDRA_LAUNCHER": "fork", "I_MPI_HYDRA_BOOTSTRAP": "fork"}
# Where ranks of a node exchange data, and the MB that MPICH 5 takes there, measured: 5 for a group, 5.4 for each rank.
# With less it goes by the network, or ends by a signal.
SHARED = Path("/dev/shm")
FOR_GROUP, FOR_RANK = 8, 6
GROUPS = 8  # that may start together
# What launchers call the number of ranks on a node.
NEIGHBOURS = ("MPI_LOCALNRANKS", "OMPI_COMM_WORLD_LOCAL_SIZE")
ORDER = 1  # the tag of a message with an order
# The longest between two looks for an order, in seconds: ranks that wait must not take cores from those that are timed.
NAP = 0.5
SHARING = ("mpiexec", "mpirun")

last = []  # seconds by rank of the last timed call


def command(case, launcher):
    """The words before a worker's own command line that start its ranks. Raises LadderError without a launcher."""
    if case.ranks == 1:
        return []
    if not launcher:
        raise LadderError(
            f"{case.key} runs on {case.ranks} ranks, but there is no launcher of MPI: name one with "
            "`--launcher mpiexec`, or with the key `mpi` of the configuration."
        )
    words = shlex.split(launcher)
    if not shutil.which(words[0]):
        raise LadderError(
            f"The launcher {words[0]!r} can't be started: there is no such program. Name another with `mpi`."
        )
    return [*words, "-n", str(case.ranks)]


def share_start(case, launcher):
    """Whether several workers of a case, a group of ranks each, may start together and wait for their turns.

    An mpiexec lets them. In a job of Slurm, and with launchers such as srun and jsrun, a group waits for the cores and
    cards of the one before.
    """
    program, *_ = shlex.split(launcher or "") or [""]
    is_roomy = free_memory() >= GROUPS * needed_memory(case.ranks)
    return case.ranks == 1 or (not description.slurm() and Path(program).name in SHARING and is_roomy)


def launcher_hint():
    """What to check when a launcher's ranks never become ready."""
    within = " and may it start ranks inside this job of Slurm" if description.slurm() else ""
    return f"is the launcher, the key `mpi`, that of the MPI which mpi4py loads{within}?"


def environment(threads):
    """The host's variables, and launchers': Open MPI's may run as root, as in a container, and binds nothing."""
    own = OWN_NODE if is_job_of_one_node() else {}
    alone = {} if shutil.which("ssh") or shutil.which("rsh") else NO_REMOTE_SHELL
    return host.environment(threads) | OPEN_MPI | SLURM | own | alone


def is_job_of_one_node():
    """Whether this is a job of Slurm on one node, whose ranks nobody starts otherwise."""
    slurm = description.slurm()
    count = slurm.get("SLURM_JOB_NUM_NODES") or slurm.get("SLURM_NNODES")
    return count == "1" and not {"HYDRA_LAUNCHER", "HYDRA_BOOTSTRAP", "I_MPI_HYDRA_BOOTSTRAP"} & set(os.environ)


def free_memory():
    """MB that are free where ranks of this node exchange data; endless where there is no such place."""
    try:
        found = os.statvfs(SHARED)
    except OSError:
        return math.inf
    return found.f_bavail * found.f_frsize / 1e6


def needed_memory(ranks):
    """MB of shared memory that a group needs which has so many ranks on a node."""
    return FOR_GROUP + FOR_RANK * ranks


@functools.cache
def require_memory():
    """Raises LadderError before MPI starts where its ranks on this node have too little shared memory."""
    ranks = next((int(os.environ[name]) for name in NEIGHBOURS if name in os.environ), 1)
    free, due = free_memory(), needed_memory(ranks)
    if ranks > 1 and free < due:
        raise LadderError(
            f"{SHARED}, where the ranks of a node exchange data, has {free:.0f} MB free, but {ranks} ranks need {due}: "
            f"enlarge it (`mount -o remount,size=1G {SHARED}`, `docker run --shm-size=1g`), or remove from it what "
            "killed programs have left there."
        )


def start(case):
    """Join the other ranks. Raises LadderError where there is no MPI, or where it isn't that of the launcher."""
    processes.die_with_parent(os.getppid())
    if communicator().size != case.ranks:
        raise LadderError(
            f"The launcher has started {case.ranks} processes, but MPI knows of {communicator().size}: "
            "the launcher belongs to another MPI than the one that mpi4py loads. Name the right one with the key `mpi`."
        )
    communicator().Barrier()  # the first rank is ready when all are


def communicator():
    """The communicator of all ranks. Raises LadderError where there is no MPI."""
    require_memory()
    try:
        from mpi4py import MPI
    except ImportError as error:
        raise LadderError(f"MPI can't be used: {error}. `pip install mpi4py mpich` brings it.") from None
    except RuntimeError as error:  # mpi4py is there, but no library of MPI
        first = str(error).splitlines()[0]
        raise LadderError(f"mpi4py finds no MPI ({first}): `pip install mpich` brings one.") from None
    return MPI.COMM_WORLD


def receive():
    """The harness's next line, for every rank; empty at the end of its messages."""
    world = communicator()
    if is_first():
        line = sys.stdin.readline()
        for rank in range(1, world.size):
            world.send(line, rank, ORDER)
        return line
    nap = 1e-3
    while not world.iprobe(0, ORDER):
        time.sleep(nap)
        nap = min(2 * nap, NAP)
    return world.recv(source=0, tag=ORDER)


def is_first():
    """Whether this is the rank that has the arrays and talks to the harness."""
    return communicator().rank == 0


def broadcast(value):
    """The first rank's value."""
    return communicator().bcast(value)


def stopwatch(run):
    """Seconds of one call of `run` on the slowest rank, all beginning together."""
    world = communicator()
    world.Barrier()
    start = time.perf_counter_ns()
    run()
    last[:] = world.allgather((time.perf_counter_ns() - start) * 1e-9)
    return max(last)


def by_rank():
    """Seconds by rank of the last timed call."""
    return list(last)


def flusher():
    """A function by which the ranks of a node empty the caches of all their CPUs together."""
    world = communicator()
    ranks = world.allgather((description.node(), sorted(host.AFFINITY)))
    neighbours = sum(node == description.node() for node, _ in ranks)
    return caches.flusher(own_cpus(ranks, world.rank), neighbours)


def own_cpus(ranks, rank):
    """A rank's fair share, maybe none, of the CPUs that it and others of its node may use; `ranks` are (node, CPUs)."""
    users = {}
    for other, (node, cpus) in enumerate(ranks):
        if node == ranks[rank][0]:
            for cpu in cpus:
                users.setdefault(cpu, []).append(other)
    return [cpu for i, cpu in enumerate(sorted(users)) if users[cpu][i % len(users[cpu])] == rank]


def threads_found():
    """The first rank's threads and CPUs, and a list of every rank's."""
    own = host.threads_found()
    return own | {"ranks": communicator().allgather(own)}


def conditions():
    """The conditions under which the ranks run, `host.conditions`; all values of a fact in which ranks differ."""
    return together(communicator().allgather(host.conditions()))


def together(conditions):
    """The conditions of several ranks as one: of each fact the value, or a text with each value once."""
    facts = dict.fromkeys(fact for one in conditions for fact in one)
    values = {fact: list(dict.fromkeys(one[fact] for one in conditions if fact in one)) for fact in facts}
    return {fact: some[0] if len(some) == 1 else ", ".join(map(str, some)) for fact, some in values.items()}


def require_threads(case_threads, runtime, found):
    """Refuse a job in which this rank has other threads than the case says, or fewer CPUs."""
    rank = communicator().rank
    own = found["ranks"][rank]
    if own["cpus"] < case_threads:
        raise LadderError(
            f"Rank {rank} has {case_threads} threads, but may use {own['cpus']} CPUs only: have the launcher bind it "
            "to as many cores, or to none; the key `mpi` of the configuration is its command."
        )
    host.require_threads(case_threads, runtime, own)
