"""A real Slurm of four virtual nodes on this machine, two of them with a simulated GPU each.

    python tests/cluster/slurm.py start [FOLDER]    starts it; it runs until
    python tests/cluster/slurm.py stop

Its files are in FOLDER, from which those of an earlier Slurm are removed. It requires root and a machine on which no
other Slurm is configured. Only one runs at a time: whoever runs it holds a lock.
"""

import argparse
import fcntl
import os
import re
import shutil
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import psutil

from ladder.errors import LadderError

PARTITIONS = {"cpu": ["c1", "c2"], "gpu": ["g1", "g2"]}
NODES = [node for nodes in PARTITIONS.values() for node in nodes]
TOOLS = {"slurmctld": "slurmctld", "slurmd": "slurmd", "sbatch": "slurm-client", "munged": "munge"}

# Nodes must not share /dev/shm, because ranks on two nodes would then use the same segments. The second command of
# PRIVATE_MOUNTS is for a chroot, where / is not a mount.
PRIVATE_MOUNTS = "mount --make-rprivate / || mount --make-rprivate /dev"
WITH_PRIVATE_MEMORY = ["unshare", "--mount", "--propagation=unchanged", "sh", "-c"]
WITH_PRIVATE_MEMORY += [f'({PRIVATE_MOUNTS}) && mount -t tmpfs tmpfs /dev/shm && exec "$@"', "sh"]
# Snakemake's executor strips SLURM_CONF from the environment, so Slurm must find its file at the default path.
CONFIGURATION = Path("/etc/slurm/slurm.conf")
GRES = CONFIGURATION.with_name("gres.conf")
MARK = "# Written, and removed after use, by tests/cluster/slurm.py of ladder."
# Fixed, so that the files of a killed run are found; not in /tmp, which may be mounted without execution.
FOLDER = Path("/var/lib/ladder-slurm")
LOCK = Path("/run/ladder-slurm.lock")
TIMEOUT = 120  # seconds of a wait by default, enough on a slow and busy machine

# MinJobAge: Snakemake asks squeue for jobs that have ended. linuxproc: control groups want systemd. config_overrides:
# nodes may have more than the machine. task/affinity: as on clusters, a job stays on the cores that it was given.
# batch_sched_delay: a job starts within a second, not three. cred_expire: how long a job waits after its node fails.
SLURM_CONF = """{mark}
ClusterName=ladder
SlurmctldHost=localhost
SlurmUser=root
AuthInfo=socket={folder}/munge.socket,cred_expire=15
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
JobCompType=jobcomp/filetxt
JobCompLoc={folder}/jobs.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/affinity
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
SlurmdParameters=config_overrides
PropagateResourceLimits=NONE
ReturnToService=1
EnforcePartLimits=ALL
SchedulerParameters=batch_sched_delay=0
MinJobAge=3600
KillWait=5
MpiDefault=pmi2
GresTypes=gpu
NodeName=DEFAULT CPUs=2 RealMemory=4000
NodeName=c[1-2] NodeHostname=localhost Port=[17001-17002]
NodeName=g[1-2] NodeHostname=localhost Port=[17003-17004] Gres=gpu:1
PartitionName=DEFAULT MaxTime=60 State=UP
PartitionName=cpu Nodes=c[1-2] Default=YES
PartitionName=gpu Nodes=g[1-2]
"""
# A GPU without a file drains its node.
GRES_CONF = "{mark}\nNodeName=g[1-2] Name=gpu File=/dev/null\n"


class Unavailable(LadderError):
    """No Slurm can be started on this machine, for this reason."""


@dataclass
class Job:
    """A job that has ended, from the completion log. Times are local; `nodes` is empty for one that never ran."""

    id: int
    name: str
    partition: str
    nodes: list[str]
    state: str
    processors: int
    started: datetime
    ended: datetime


class Slurm:
    """The Slurm that runs, with its log of jobs, `jobs.log`, and its other files in `folder`."""

    def __init__(self, folder):
        self.folder = Path(folder)

    def submit(self, *arguments):
        """The number of a new job: of `sbatch` with these arguments."""
        return int(output("sbatch", "--parsable", "--output", self.folder / "%j.out", *arguments).split(";")[0])

    def output_of(self, job):
        """What a job printed."""
        return (self.folder / f"{job}.out").read_text()

    def jobs(self):
        """The jobs of the completion log, in the order in which they ended."""
        log = self.folder / "jobs.log"
        return [parse_job(line) for line in log.read_text().splitlines()] if log.exists() else []

    def wait_until_ended(self, job):
        """Wait until a job has ended; the Job of the completion log."""
        return wait_for(
            lambda: next((job_entry for job_entry in self.jobs() if job_entry.id == job), None), f"the job {job} to end"
        )

    def wait_until_running(self, job):
        """Wait until a job runs."""
        wait_for(lambda: output("squeue", "-h", "-j", job, "-o", "%T") == "RUNNING", f"the job {job} to run")

    def cancel(self, job):
        output("scancel", job)

    def take_down(self, node):
        """Take a node down, as when it fails: what runs on it is lost."""
        output("scontrol", "update", f"NodeName={node}", "State=DOWN", "Reason=test")

    def bring_up(self, node):
        """Bring a node back, and wait until it is idle."""
        output("scontrol", "update", f"NodeName={node}", "State=RESUME")
        wait_for(lambda: node_states()[node] == "idle", f"the node {node} to come back")


def parse_job(line):
    """The job of a line of the completion log."""
    # Names and folders may hold blanks.
    fields = dict(re.findall(r"(\w+)=(.*?)(?= \w+=|\s*$)", line))
    return Job(
        id=int(fields["JobId"]),
        name=fields["Name"],
        partition=fields["Partition"],
        nodes=expand_nodes(fields["NodeList"]),
        state=fields["JobState"],
        processors=int(fields["ProcCnt"]),
        started=datetime.fromisoformat(fields["StartTime"]),
        ended=datetime.fromisoformat(fields["EndTime"]),
    )


def expand_nodes(names):
    """The nodes in a list of Slurm's such as `c[1-2],g1`, or `(null)`, which has none."""
    spans = [
        (letter, part.partition("-"))
        for letter, single, several in re.findall(r"([a-z])(?:(\d+)|\[([\d,-]+)\])", names)
        for part in (single or several).split(",")
    ]
    return [f"{letter}{number}" for letter, (low, _, high) in spans for number in range(int(low), int(high or low) + 1)]


def output(*command):
    """What a command printed. Raises LadderError, with its complaint, when it fails."""
    result = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=60)
    if result.returncode:
        raise LadderError(f"'{' '.join(map(str, command))}' failed: {result.stderr.strip()}")
    return result.stdout.strip()


def node_states():
    """The state of each node, by its name, in lower case."""
    return dict(line.split() for line in output("sinfo", "--Node", "--noheader", "--format=%N %T").splitlines())


def wait_for(condition, description, timeout=TIMEOUT):
    """Wait until `condition` returns something true; returns that. Raises LadderError after `timeout` seconds."""
    end = time.monotonic() + timeout
    while not (value := condition()):
        if time.monotonic() > end:
            raise LadderError(f"Waited more than {timeout} s for {description}.")
        time.sleep(0.05)
    return value


def result_or_false(condition):
    """What `condition` returns; False if it raises LadderError, as before a daemon answers."""
    try:
        return condition()
    except LadderError:
        return False


def missing_packages():
    """The Debian packages whose tools are missing."""
    return sorted(package for tool, package in TOOLS.items() if not shutil.which(tool))


def require_allowed():
    """Raise Unavailable if no Slurm may be started here."""
    if os.geteuid():
        raise Unavailable("Only root may start a Slurm for tests.")
    for path in (CONFIGURATION, GRES):
        if path.exists() and not path.read_text().startswith(MARK):
            raise Unavailable(f"This machine has another Slurm: {path} was not written for tests.")
    if "SLURM_CONF" in os.environ:
        raise Unavailable("This machine has another Slurm: SLURM_CONF is set.")


def install_requirements():
    """Install all required packages. Raises Unavailable if that is forbidden or fails."""
    require_allowed()
    if missing_packages() and not shutil.which("apt-get"):
        raise Unavailable(
            f"A Slurm for tests requires Debian's packages {', '.join(missing_packages())}, and apt-get is missing."
        )
    if missing_packages():
        install(missing_packages())


def install(packages):
    """Install Debian packages."""
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    get = ["apt-get", "--yes", "-o", "DPkg::Lock::Timeout=300"]
    for command in ([*get, "update"], [*get, "install", "--no-install-recommends", *packages]):
        result = subprocess.run(command, env=environment, capture_output=True, text=True)
        if result.returncode:
            raise Unavailable(f"A Slurm requires packages: '{' '.join(command)}' failed: {result.stderr.strip()}")


def lock_machine(timeout):
    """Lock the machine; returns the open lock file. Raises Unavailable if another holds it for `timeout` seconds."""
    file = LOCK.open("w", encoding="utf-8")

    def try_lock():
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    try:
        wait_for(try_lock, "the lock", timeout)
    except LadderError:
        file.close()
        raise Unavailable(
            "Another Slurm for tests runs on this machine: 'python tests/cluster/slurm.py stop' ends it."
        ) from None
    return file


def start(folder=FOLDER, lock_file=None):
    """End an earlier Slurm, if there is one, and start a new one; the caller holds the lock.

    With `lock_file`, the open file of the lock, the Slurm holds the lock even after this process has ended.
    """
    stop()
    folder = Path(folder).resolve()
    for pattern in ("munge*", "state", "spool-*", "*.log", "*.out"):
        for path in folder.glob(pattern):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    (folder / "state").mkdir(parents=True)
    key = folder / "munge.key"
    key.touch(mode=0o600)
    key.write_bytes(os.urandom(128))
    CONFIGURATION.write_text(SLURM_CONF.format(mark=MARK, folder=folder), encoding="utf-8")
    GRES.write_text(GRES_CONF.format(mark=MARK))
    try:
        # A separate munged, as root, so that none of the machine's is touched.
        file_options = [f"--{name}-file={folder}/munge.{name}" for name in ("key", "pid", "log", "seed")]
        socket = f"--socket={folder}/munge.socket"
        start_daemon(folder, ["munged", "--force", socket, *file_options], lock_file)
        wait_for(lambda: result_or_false(lambda: output("munge", "--no-input", socket)), "munged to answer", 30)
        start_daemon(folder, ["slurmctld", "-c"])
        for node in NODES:
            start_daemon(folder, [*WITH_PRIVATE_MEMORY, "slurmd", "-c", "-N", node])
        idle = dict.fromkeys(NODES, "idle")
        wait_for(
            lambda: result_or_false(lambda: node_states() == idle),
            f"the nodes of Slurm to be idle (see {folder}/*.log)",
        )
    except BaseException:
        stop()
        raise
    return Slurm(folder)


def start_daemon(folder, command, lock_file=None):
    """Start a daemon, which goes into the background by itself."""
    with (folder / "start.log").open("a") as log:
        inherited_files = [lock_file.fileno()] if lock_file else []
        status = subprocess.run(
            command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, pass_fds=inherited_files
        ).returncode
    if status:
        raise LadderError(f"'{' '.join(command)}' failed with status {status}: see {log.name}.")


def stop():
    """End the Slurm that is configured, with all that runs in it, and remove its configuration."""
    if not CONFIGURATION.exists() or not CONFIGURATION.read_text(encoding="utf-8").startswith(MARK):
        return
    folder = Path(
        re.search("^StateSaveLocation=(.*)/state$", CONFIGURATION.read_text(encoding="utf-8"), re.MULTILINE)[1]
    )
    own_processes = set(processes(folder))
    # One may end because another did.
    for process in own_processes:
        with suppress(psutil.NoSuchProcess):
            process.terminate()
    for process in psutil.wait_procs(own_processes, timeout=5)[1]:
        with suppress(psutil.NoSuchProcess):
            process.kill()
    CONFIGURATION.unlink()
    GRES.unlink(missing_ok=True)


def processes(folder):
    """The daemons of the Slurm whose files are in `folder`, and whatever runs in its jobs; pid files may be stale."""
    for process in psutil.process_iter():
        try:
            if process.name().startswith("slurm"):
                # slurmd has a view of its own of what is mounted where, in which the folder may have another name.
                is_of_slurm = Path(f"/proc/{process.pid}/cwd").samefile(folder)
            else:
                is_of_slurm = process.name() == "munged" and f"--socket={folder}/munge.socket" in process.cmdline()
            if is_of_slurm:
                yield from (process, *process.children(recursive=True))
        except (psutil.Error, OSError):
            continue


@contextmanager
def run_slurm(folder=FOLDER, timeout=600):
    """A Slurm for the duration of the context. Raises Unavailable, after `timeout` seconds if another one runs."""
    install_requirements()
    with lock_machine(timeout):
        slurm = start(folder)
        try:
            yield slurm
        finally:
            stop()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True)
    start_parser = verbs.add_parser("start")
    start_parser.add_argument("folder", nargs="?", default=FOLDER, help=f"of all files (default: {FOLDER})")
    verbs.add_parser("stop")
    options = parser.parse_args()
    try:
        if options.verb == "stop":
            require_allowed()
            stop()
            return
        install_requirements()
        with lock_machine(timeout=0) as lock:
            start(options.folder, lock_file=lock)
    except LadderError as error:
        sys.exit(f"slurm: {error}")


if __name__ == "__main__":
    main()
