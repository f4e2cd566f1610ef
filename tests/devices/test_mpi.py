"""Measuring on MPI ranks: what a record holds about them, and that nothing hangs when a rank fails."""

import contextlib
import os
import shutil
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from conftest import PROTOCOL, TESTS
from ladder import cuda, devices
from ladder.catalogue import traits, workloads
from ladder.cuda import gpus
from ladder.devices import mpi, mpi_cuda
from ladder.devices.gpu import Gpu
from ladder.devices.host import Host
from ladder.errors import LadderError
from ladder.harness import environment, leases, measure
from ladder.harness import workers as harness_workers
from ladder.machine import nvidia, programs
from ladder.planning import configuration, plan
from ladder.planning.targets import Target
from ladder.records import record
from ladder.records.case import Case

CUDA, MPI, MPI_CUDA = map(devices.load, ("cuda", "mpi", "mpi_cuda"))
LAUNCHER = programs.launcher("auto")
needs_mpi = pytest.mark.skipif(
    not LAUNCHER or not plan.is_installed("mpi4py"), reason="requires MPI: mpi4py and a launcher"
)
TIMEOUT_SECONDS = 60  # within which everything must have ended


@pytest.fixture(autouse=True)
def working_folder(monkeypatch, tmp_path):
    """A working directory with its own lock, and the tests' variants."""
    monkeypatch.setenv("LADDER_VARIANTS", str(TESTS / "variants"))
    monkeypatch.chdir(tmp_path)


def case_of(ranks, **tuning):
    sizes = workloads.complete("gemm", {"m": 17, "n": 5, "k": 9})
    return Case("gemm", "on_ranks", sizes, {"ranks": ranks, "threads": 1, **tuning}, "warm")


def measure_case(case, launcher=LAUNCHER, protocol=None):
    full_protocol = configuration.protocol(PROTOCOL | (protocol or {}))
    measure.measure(case, "record.json", full_protocol, "here", launcher=launcher)
    return record.read("record.json")


@needs_mpi
@pytest.mark.parametrize("ranks", [2, *(pytest.param(ranks, marks=pytest.mark.slow) for ranks in (1, 3))])
def test_a_record_has_the_times_of_every_rank(ranks):
    result = measure_case(case_of(ranks))
    assert result["device"] == "mpi"
    for process in result["processes"]:
        assert len(process["threads"]["ranks"]) == ranks
        for phases, by_rank in zip(process["phases"], process["by_rank"], strict=True):
            assert set(phases) == set(by_rank) == {"distribute", "product", "gather"}
            assert all(len(times) == ranks and max(times) == phases[name] for name, times in by_rank.items())


@needs_mpi
@pytest.mark.parametrize(
    ("fault", "sentence"),
    [
        ("raises", "The variant stopped with ValueError: something is wrong here"),
        pytest.param("os_exit", "measuring process", marks=pytest.mark.slow),
        pytest.param("sys_exit", "stopped with SystemExit", marks=pytest.mark.slow),
        ("killed", "measuring process"),
    ],
)
def test_a_rank_that_fails_ends_the_job_and_leaves_no_process(fault, sentence):
    start = time.monotonic()
    with pytest.raises(LadderError, match=sentence):
        measure_case(case_of(3, fault=fault))
    assert time.monotonic() - start < TIMEOUT_SECONDS
    assert not Path("record.json").exists()
    assert no_process_is_left()


@needs_mpi
def test_a_killed_measurement_takes_its_ranks_along():
    case = case_of(2)
    command = [sys.executable, "-m", "ladder", "measure", "gemm", "on_ranks", case.slug, "--out", "x.json"]
    protocol = '{"cap": 50, "least": 100000, "most": 100000}'
    process = subprocess.Popen([*command, "--machine", "here", "--launcher", LAUNCHER, "--protocol", protocol])
    for _ in range(20 * TIMEOUT_SECONDS):
        time.sleep(0.05)
        if len(workers()) >= 2:
            break
    else:
        pytest.fail("no ranks have started")
    process.kill()
    process.wait()
    assert no_process_is_left()
    assert not Path("x.json").exists()


def workers():
    """The worker processes of measurements in this folder."""
    processes = []
    for process in psutil.process_iter(["cmdline", "cwd"]):
        is_here = process.info["cwd"] == str(Path.cwd())
        if is_here and "ladder.harness.worker" in (process.info["cmdline"] or []):
            processes.append(process)
    return processes


def processes_in_folder(*names):
    """The processes of these names that run in this folder."""
    infos = [process.info for process in psutil.process_iter(["name", "cwd"])]
    return [info for info in infos if info["name"] in names and info["cwd"] == str(Path.cwd())]


def no_process_is_left(find=workers):
    """Whether all processes that `find` returns end within ten seconds: killing them takes a moment."""
    for _ in range(100):
        if not find():
            return True
        time.sleep(0.1)
    return False


@needs_mpi
def test_a_rank_bound_to_fewer_cpus_than_threads_is_refused():
    threads = {"ranks": [{"cpus": 1, "runtimes": {"numba-omp": 2}}]}
    with pytest.raises(LadderError, match="Rank 0 has 2 threads, but may only use 1 CPU: have the launcher, the"):
        MPI.require_threads(2, "numba", threads)


@needs_mpi
def test_a_wrong_result_of_one_rank_is_refused(monkeypatch, tmp_path):
    source = (TESTS / "variants/gemm/on_ranks.py").read_text()
    wrong_source = source.replace('local["out"] = local["a"]', 'local["out"] = (world.rank != ranks - 1) * local["a"]')
    folder = tmp_path / "variants/gemm"
    folder.mkdir(parents=True)
    (folder / "lazy_rank.py").write_text(wrong_source)
    monkeypatch.setenv("LADDER_VARIANTS", str(tmp_path / "variants"))
    case = case_of(2)
    with pytest.raises(LadderError, match="product"):
        measure_case(Case("gemm", "lazy_rank", case.sizes, case.tuning, "warm"))


def test_without_a_launcher_cases_of_several_ranks_are_skipped(monkeypatch):
    four_cores, three_cores = Target("here", cores=4), Target("here", cores=3)
    assert "MPI launcher" in str(plan.skip_reason(case_of(2), peers=True, target=four_cores))
    assert "needs 4 cores" in str(plan.skip_reason(case_of(2, threads=2), peers=True, target=three_cores))
    with pytest.raises(LadderError, match="no MPI launcher: name one"):
        measure_case(case_of(2), launcher=None)
    assert MPI.command(case_of(1), None) == []
    monkeypatch.setattr(shutil, "which", lambda name: None)
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    assert programs.launcher("auto") is None
    assert programs.launcher("srun --mpi=pmi2") == "srun --mpi=pmi2"


def test_a_launcher_beside_python_is_found_in_a_folder_with_blanks_in_its_name(tmp_path, monkeypatch):
    launcher = tmp_path / "it's & mine/mpiexec"
    launcher.parent.mkdir()
    launcher.touch(0o755)
    monkeypatch.setattr(sys, "executable", str(launcher.with_name("python")))
    assert MPI.command(case_of(2), programs.launcher("auto")) == [str(launcher), "-n", "2"]


def test_a_missing_launcher_is_an_error():
    with pytest.raises(LadderError, match=r"'/nowhere/mpiexec' can't be started: .* with the key `mpi`"):
        measure_case(case_of(2), launcher="/nowhere/mpiexec")


def test_if_a_launcher_ends_early_the_error_asks_whether_it_fits_mpi(tmp_path):
    """As Open MPI's launcher does with ranks that use MPICH."""
    launcher = tmp_path / "otherexec"
    launcher.write_text("#!/bin/sh\nexit 16\n")
    launcher.chmod(0o755)
    with pytest.raises(LadderError, match=r"ended with status 16 \(does the launcher, the key `mpi`, belong to"):
        measure_case(case_of(2), launcher=str(launcher))


@pytest.mark.parametrize("script", ["sleep 60 | cat", "sleep 60 &"])
def test_a_launcher_whose_ranks_never_start_is_ended(tmp_path, monkeypatch, script):
    launcher = tmp_path / "mpiexec"
    launcher.write_text(f"#!/bin/sh\n{script}\n")
    launcher.chmod(0o755)
    monkeypatch.setattr(harness_workers, "START_TIMEOUT", 0.5)
    start = time.monotonic()
    with pytest.raises(LadderError, match=r"wasn't ready after 0\.5 s: does the launcher, the key `mpi`"):
        measure_case(case_of(2), str(launcher), {"processes": 3, "most_processes": 3})
    assert time.monotonic() - start < TIMEOUT_SECONDS
    assert no_process_is_left(lambda: processes_in_folder("sleep", "cat"))


@pytest.mark.slow
def test_after_a_launcher_is_killed_its_ranks_have_time_to_end(tmp_path, monkeypatch):
    """With srun, ranks on other nodes are ended by a process that notices the launcher's death."""
    launcher = tmp_path / "mpiexec"
    launcher.write_text(
        f"#!{Path(sys.executable).resolve()}\n"
        "import os, pathlib, signal, time\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "read_end, write_end = os.pipe()\n"
        "if os.fork():\n"
        "    time.sleep(60)\n"
        "os.close(write_end)\n"
        "os.read(read_end, 1)\n"
        "time.sleep(0.2)\n"
        "pathlib.Path('ended').touch()\n"
    )
    launcher.chmod(0o755)
    monkeypatch.setattr(harness_workers, "START_TIMEOUT", 1)
    monkeypatch.setattr(harness_workers, "TERM_TIMEOUT", 1)
    with pytest.raises(LadderError, match="wasn't ready after 1 s"):
        measure_case(case_of(2), str(launcher))
    assert Path("ended").exists()


@pytest.mark.parametrize(
    ("ranks", "launcher", "job", "is_together"),
    [
        (1, None, {}, True),
        (2, "/usr/bin/mpiexec -bind-to none", {}, True),
        (2, "mpirun", {"SLURM_JOB_ID": "7"}, False),
        (1, None, {"SLURM_JOB_ID": "7"}, True),
        (2, "srun --mpi=pmi2", {}, False),
        (2, "", {}, False),
        (2, None, {}, False),
    ],
)
def test_groups_of_ranks_start_together_unless_the_launcher_schedules_them(
    monkeypatch, ranks, launcher, job, is_together
):
    monkeypatch.setattr(mpi.description, "slurm", lambda: job)
    assert MPI.can_start_together(case_of(ranks), launcher, 8) == is_together


# Slurm's variables in a job, without the number of nodes, which has either of two names.
JOB = {"SLURM_JOB_ID": "7", "SLURM_JOB_NODELIST": "c1", "SLURM_NODELIST": "c1", "SLURM_TASKS_PER_NODE": "1"}


@pytest.mark.parametrize(
    ("job", "is_local"),
    [
        ({}, False),
        (JOB | {"SLURM_JOB_NUM_NODES": "1"}, True),
        (JOB | {"SLURM_NNODES": "1"}, True),
        (JOB | {"SLURM_JOB_NUM_NODES": "2"}, False),
    ],
)
def test_in_a_job_on_one_node_mpiexec_starts_its_ranks_itself(monkeypatch, job, is_local):
    for name, value in job.items():
        monkeypatch.setenv(name, value)
    assert (MPI.environment(1).get("HYDRA_LAUNCHER") == "fork") is is_local
    monkeypatch.setenv("HYDRA_BOOTSTRAP", "fork")  # set by the user; workers don't inherit it
    assert (environment.of_worker(case_of(2)).get("HYDRA_LAUNCHER") == "fork") is is_local


@pytest.mark.parametrize("name", mpi.BOOTSTRAP_VARIABLES)
def test_a_prelude_or_a_case_selects_how_an_mpiexec_starts_its_ranks(monkeypatch, name):
    for variable, value in (JOB | {"SLURM_JOB_NUM_NODES": "1"}).items():
        monkeypatch.setenv(variable, value)
    case = replace(case_of(2), variables={name: "ssh"})
    for variables in (environment.of_worker(case_of(2), {name: "ssh"}), environment.of_worker(case)):
        assert {variable: variables[variable] for variable in mpi.BOOTSTRAP_VARIABLES if variable in variables} == {
            name: "ssh"
        }


@pytest.mark.parametrize(
    ("nodes", "launcher", "programs", "variables", "is_accepted"),
    [
        ("2", "mpiexec", ["mpiexec"], {}, False),
        ("2", "mpiexec", ["mpiexec", "srun"], {}, True),
        ("2", "mpiexec", ["mpiexec"], {"HYDRA_BOOTSTRAP": "ssh"}, True),
        ("2", "jsrun", ["jsrun"], {}, True),
        ("1", "mpiexec", ["mpiexec"], {}, True),
    ],
)
def test_several_nodes_without_srun_are_refused_before_ranks_start(
    monkeypatch, nodes, launcher, programs, variables, is_accepted
):
    monkeypatch.setattr(mpi.description, "slurm", lambda: {"SLURM_JOB_NUM_NODES": nodes})
    monkeypatch.setattr(mpi.shutil, "which", lambda name: name if name in programs else None)
    message = "mpiexec starts the ranks of a Slurm job on 2 nodes by `srun`, which isn't on the PATH"
    with contextlib.nullcontext() if is_accepted else pytest.raises(LadderError, match=message):
        assert MPI.command(case_of(2), launcher, variables) == [launcher, "-n", "2"]


@needs_mpi
@pytest.mark.slow
def test_in_a_job_on_one_node_ranks_are_measured(monkeypatch):
    """Without the variables of LOCAL_LAUNCH, MPICH's mpiexec would start srun."""
    for name, value in (JOB | {"SLURM_JOB_NUM_NODES": "1"}).items():
        monkeypatch.setenv(name, value)
    assert measure_case(case_of(2))["slurm"]["SLURM_JOB_ID"] == "7"


@pytest.fixture
def shared_memory(monkeypatch):
    """A function that sets the free MB and files of the memory through which the ranks of a node exchange data."""
    mpi.require_memory.cache_clear()

    def set_free(megabytes, files=100):  # without a number of files, the file system has no limit of files
        status = SimpleNamespace(f_bavail=megabytes, f_frsize=1_000_000, f_files=files and 100, f_favail=files)
        monkeypatch.setattr(mpi, "os", SimpleNamespace(environ=os.environ, statvfs=lambda folder: status))

    yield set_free
    mpi.require_memory.cache_clear()


@pytest.mark.parametrize("name", ["MPI_LOCALNRANKS", "OMPI_COMM_WORLD_LOCAL_SIZE"])
@pytest.mark.parametrize(
    ("ranks", "megabytes", "is_accepted"), [(1, 1, True), (2, 19, False), (2, 20, True), (8, 55, False)]
)
def test_too_little_shared_memory_is_refused_before_mpi_starts(
    monkeypatch, shared_memory, name, ranks, megabytes, is_accepted
):
    """A group of ranks needs 8 MB, and 6 MB for each rank."""
    monkeypatch.setenv(name, str(ranks))
    shared_memory(megabytes)
    message = rf"/dev/shm, .*, has {megabytes} MB free, but {ranks} ranks need \d+: enlarge it"
    with contextlib.nullcontext() if is_accepted else pytest.raises(LadderError, match=message):
        mpi.require_memory()


def test_groups_start_one_after_the_other_with_little_shared_memory(shared_memory):
    """A group of two ranks needs 20 MB."""
    shared_memory(199)
    assert not MPI.can_start_together(case_of(2), "mpiexec", 10)
    assert MPI.can_start_together(case_of(2), "mpiexec", 9)
    shared_memory(200)
    assert MPI.can_start_together(case_of(2), "mpiexec", 10)


@pytest.mark.parametrize(
    ("ranks", "files", "is_accepted"), [(2, 7, False), (2, 8, True), (4, 8, False), (2, None, True)]
)
def test_too_few_files_in_shared_memory_are_refused_before_mpi_starts(
    monkeypatch, shared_memory, ranks, files, is_accepted
):
    """A group of ranks needs 4 files, and 2 for each rank."""
    monkeypatch.setenv("MPI_LOCALNRANKS", str(ranks))
    shared_memory(1000, files)
    message = rf"/dev/shm, .*, has room for only {files} of the {4 + 2 * ranks} files of {ranks} ranks "
    with contextlib.nullcontext() if is_accepted else pytest.raises(LadderError, match=message):
        mpi.require_memory()


def test_missing_shared_memory_is_refused_for_several_ranks(monkeypatch, shared_memory, tmp_path):
    monkeypatch.setattr(mpi, "SHARED_MEMORY", tmp_path / "nowhere")
    mpi.require_memory()
    mpi.require_memory.cache_clear()
    monkeypatch.setenv("MPI_LOCALNRANKS", "2")
    with pytest.raises(LadderError, match=r"nowhere, through which .* is missing: mount it"):
        mpi.require_memory()
    assert not MPI.can_start_together(case_of(2), "mpiexec", 1)


@needs_mpi
@pytest.mark.skipif(os.geteuid() != 0, reason="mounts a file system, as root")
@pytest.mark.slow
def test_ranks_in_a_container_with_little_shared_memory_are_refused(tmp_path):
    launcher = tmp_path / "mpiexec"
    mount = "mount -t tmpfs -o size=16m tmpfs /dev/shm"
    launcher.write_text(f'#!/bin/sh\nexec unshare -m sh -c \'{mount}; exec "$@"\' sh {LAUNCHER} "$@"\n')
    launcher.chmod(0o755)
    with pytest.raises(LadderError, match=r"/dev/shm, .* 17 MB free, but 2 ranks need 20"):
        measure_case(case_of(2), str(launcher))


@needs_mpi
def test_ranks_that_wait_measure_when_their_turn_comes():
    assert len(measure_case(case_of(2), protocol={"processes": 2, "most_processes": 2})["processes"]) == 2
    assert no_process_is_left()


@needs_mpi
def test_the_launcher_of_another_mpi_is_refused(tmp_path):
    """Each of the processes that it starts is the only rank of its own MPI."""
    launcher = tmp_path / "otherexec"
    launcher.write_text('#!/bin/sh\nshift 2\n"$@" </dev/null &\nexec "$@"\n')
    launcher.chmod(0o755)
    with pytest.raises(LadderError, match="doesn't belong to the MPI that mpi4py loads"):
        measure_case(case_of(2), launcher=str(launcher))


def test_without_mpi_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "mpi4py", None)
    with pytest.raises(LadderError, match=r"MPI can't be used: .*pip install"):
        mpi.communicator()


def test_an_mpi4py_that_finds_no_mpi_is_an_error(monkeypatch):
    class Missing:
        def __getattr__(self, name):
            if name != "MPI":
                raise AttributeError(name)
            raise RuntimeError("cannot load MPI library")

    monkeypatch.setitem(sys.modules, "mpi4py", Missing())
    with pytest.raises(LadderError, match=r"mpi4py finds no MPI \(cannot load MPI library\): `pip install mpich`"):
        mpi.communicator()


class World(SimpleNamespace):
    """A stand-in for a communicator: `answers` gives the values of all ranks from that of this one."""

    rank, size = 1, 3

    def Barrier(self):
        self.clock[0] += 5_000_000_000  # the other ranks reach the barrier 5 s later

    def iprobe(self, source, tag):
        return len(self.naps) >= 11  # more than enough naps of 1 ms, 2 ms, 4 ms, ... to reach MAX_PAUSE

    def recv(self, source, tag):
        self.received = source, tag
        return "go"

    def send(self, line, rank, tag):
        self.sent.append((line, rank, tag))

    def allgather(self, value):
        return self.answers(value)


@pytest.fixture
def world(monkeypatch):
    """A communicator of three ranks, with a clock in ns and a list of the naps taken."""
    world = World(clock=[7_000_000_000], naps=[], sent=[], answers=lambda value: [value] * 3)
    times = SimpleNamespace(perf_counter_ns=lambda: world.clock[0], sleep=world.naps.append)
    monkeypatch.setattr(mpi, "communicator", lambda: world)
    monkeypatch.setattr(mpi, "time", times)
    return world


def test_a_call_on_ranks_takes_the_time_of_the_slowest_after_a_barrier(world):
    def run():
        world.clock[0] += 1_500_000_000

    world.answers = lambda seconds: [0.25, seconds, 0.75]
    assert MPI.stopwatch(run) == 1.5
    assert MPI.seconds_by_rank() == [0.25, 1.5, 0.75]
    world.answers = lambda seconds: [0.25, seconds, 2.0]
    assert MPI.stopwatch(run) == 2.0


def test_ranks_start_their_gpus_and_wait_for_each_other_before_a_set_up(world, monkeypatch):
    events = []
    monkeypatch.setattr(World, "Barrier", lambda self: events.append("barrier"))
    monkeypatch.setattr(mpi_cuda.gpus, "synchronize", lambda: events.append("GPU"))
    MPI.start_together()
    assert events == ["barrier"]
    MPI_CUDA.start_together()
    assert events[1:] == ["GPU", "barrier"]


def test_ranks_sleep_until_the_first_one_has_an_order(world, monkeypatch):
    assert MPI.receive() == "go"
    naps = world.naps
    assert naps[:3] == [1e-3, 2e-3, 4e-3]
    assert max(naps) == naps[-1] == mpi.MAX_PAUSE
    monkeypatch.setattr(world, "rank", 0)
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(readline=lambda: "line\n"))
    assert MPI.receive() == "line\n"
    assert world.sent == [("line\n", rank, world.received[1]) for rank in (1, 2)]
    assert world.received[0] == 0


def test_cases_on_ranks_are_skipped_if_mpi4py_finds_no_mpi(monkeypatch):
    pytest.importorskip("mpi4py")
    inherited = plan.variables.inherited() | {"MPI4PY_LIBMPI": "/nowhere/libmpi.so"}
    monkeypatch.setattr(plan.variables, "inherited", lambda: inherited)
    monkeypatch.setattr(plan, "has_mpi_library", plan.has_mpi_library.__wrapped__)
    sizes = workloads.complete("gemv", {"n": 5, "m": 3})
    here = Target("here", cores=2, launcher="mpiexec")
    cluster = Target("there", cores=2, launcher="srun", slurm_resources={"nodes": 1})
    for ranks in (1, 2):
        case = Case("gemv", "mpi", sizes, {"ranks": ranks, "mode": "ship"})
        assert str(plan.skip_reason(case, peers=True, target=here)) == "mpi4py finds no MPI"
        assert plan.skip_reason(case, peers=True, target=cluster) is None


# The matrix-vector product


def run_products(ranks, *arguments):
    """The completed process of `gemv_on_ranks.py` on this number of ranks; an error on one rank ends all.

    The script multiplies matrices of 18 shapes by vectors, in two dtypes and two modes, with each variant.
    """
    threads = {"NUMBA_NUM_THREADS": "2", "OMP_NUM_THREADS": "2", "NUMBA_THREADING_LAYER": "omp"}
    script = TESTS / "gemv_on_ranks.py"
    command = [*MPI.command(case_of(ranks), LAUNCHER), sys.executable, "-m", "mpi4py", script, *map(str, arguments)]
    # mpi4py replaces the first entry of sys.path, which is the working folder only without PYTHONSAFEPATH.
    environment = MPI.environment(1) | os.environ | threads | {"PYTHONSAFEPATH": ""}
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600)


@pytest.mark.slow
@needs_mpi
@pytest.mark.parametrize("ranks", [1, 3, pytest.param(4, marks=pytest.mark.exhaustive)])
def test_products_are_right_at_every_size_and_mode(ranks):
    result = run_products(ranks)
    # 18 shapes, 2 dtypes, 2 modes, and 3 variants: `mpi`, and `mpi_openmp` on one and on two threads.
    assert result.stdout.splitlines()[-1:] == [f"216 products were right on {ranks} ranks"], result.stderr


@pytest.mark.exhaustive
@needs_mpi
@pytest.mark.skipif(psutil.virtual_memory().available < 20 * 2**30, reason="requires 20 GiB of free memory")
def test_a_message_of_more_than_two_to_the_31_bytes_is_sent():
    result = run_products(2, 66_000, 8192)  # half of the matrix, for the second rank, has 2.16e9 bytes
    assert result.stdout.splitlines()[-1:] == ["1 products were right on 2 ranks"], result.stderr


@needs_mpi
@pytest.mark.parametrize(("mode", "is_prepared"), [("ship", False), ("resident", True)])
def test_a_resident_matrix_is_sent_outside_the_timed_call(mode, is_prepared):
    from ladder.harness import worker
    from ladder.workloads.gemv import mpi as variant

    sizes = workloads.complete("gemv", {"n": 5, "m": 3})
    problem = worker.make_problem(workloads.load("gemv"), Case("gemv", "mpi", sizes, {"ranks": 1, "mode": mode}), MPI)
    steps = variant.setup(problem, ranks=1, mode=mode)
    assert [name for name, _ in steps.run][-3:] == ["broadcast", "compute", "gather"]
    assert ("scatter" in dict(steps.prepare), "scatter" in dict(steps.run)) == (is_prepared, not is_prepared)


# Ranks with a GPU each

needs_gpus = [
    needs_mpi,
    pytest.mark.gpu,
    pytest.mark.skipif(not nvidia.gpus() or not LAUNCHER, reason="requires NVIDIA GPUs and MPI"),
]


@pytest.fixture
def simulated_gpus(fake_gpus, monkeypatch):
    """Four simulated GPUs, and a stand-in for CuPy."""
    fake_gpus(4)
    monkeypatch.setenv("PYTHONPATH", str(TESTS / "fake_cupy"), prepend=os.pathsep)


def require_all_products(ranks):
    """Run `gemv_on_ranks.py --gpus`; check that all products are right."""
    result = run_products(ranks, "--gpus")
    # 18 shapes and 2 dtypes; 2 modes of 4 variants, and 2 graphs.
    assert result.stdout.splitlines()[-1:] == [f"360 products were right on {ranks} ranks"], result.stderr


@pytest.mark.slow
@needs_mpi
@pytest.mark.parametrize("ranks", [1, 3])
def test_products_on_simulated_gpus_are_right(simulated_gpus, ranks):
    require_all_products(ranks)


def require_record_of_gpus(variant, ranks):
    """Measure a variant; check that each of its ranks had its own GPU."""
    sizes = workloads.complete("gemv", {"n": 1000, "m": 500})
    result = measure_case(Case("gemv", variant, sizes, {"ranks": ranks, "mode": "ship", "chunks": 1}, "warm"))
    assert result["device"] == "mpi_cuda"
    for process in result["processes"]:
        assert len({rank["gpu"]["uuid"] for rank in process["threads"]["ranks"]}) == ranks
        assert set(process["by_rank"][0]) == {"broadcast", "scatter", "compute", "gather"}


@needs_mpi
@pytest.mark.parametrize("variant", [pytest.param("mpi_cublas", marks=pytest.mark.slow), "nccl_cublas"])
def test_a_record_has_every_simulated_gpu(simulated_gpus, variant):
    require_record_of_gpus(variant, 3)


@needs_mpi
def test_a_graph_requires_a_resident_matrix(simulated_gpus):
    tuning = {"ranks": 2, "mode": "ship", "chunks": 1, "graph": "on"}
    with pytest.raises(LadderError, match=r"graph=on needs mode=resident, but has mode=ship\."):
        measure_case(Case("gemv", "nccl_cublas", workloads.complete("gemv", {"n": 5, "m": 3}), tuning))


@needs_mpi
@pytest.mark.parametrize(
    ("chunks", "phases"),
    [pytest.param(1, {"compute", "gather"}, marks=pytest.mark.slow), (2, {"compute and gather"})],
)
def test_a_record_of_a_graph_has_its_phases(simulated_gpus, chunks, phases):
    sizes = workloads.complete("gemv", {"n": 1000, "m": 500})
    tuning = {"ranks": 2, "mode": "resident", "chunks": chunks, "graph": "on"}
    result = measure_case(Case("gemv", "nccl_cublas", sizes, tuning, "warm"))
    assert set(result["processes"][0]["phases"][0]) == {"scatter", "broadcast", *phases}


@pytest.mark.parametrize("ranks", [pytest.param(ranks, marks=needs_gpus) for ranks in (1, 2, 4)])
def test_products_on_gpus_are_right_at_every_size(ranks):
    if ranks > len(nvidia.gpus()):
        pytest.skip(f"requires {ranks} NVIDIA GPUs")
    require_all_products(ranks)


@pytest.mark.parametrize("variant", [pytest.param(name, marks=needs_gpus) for name in ("mpi_cublas", "nccl_cublas")])
def test_a_record_has_every_gpu(variant):
    require_record_of_gpus(variant, min(2, len(nvidia.gpus())))


def test_chunks_cover_all_rows_in_order_and_those_of_a_rank_differ_by_at_most_one_row():
    from ladder.workloads.gemv.gpus import split_rows

    for count, ranks, chunks in [(1, 1, 1), (1, 3, 2), (17, 4, 3), (4097, 2, 8)]:
        chunks_by_rank = split_rows(count, ranks, chunks)
        assert [len(rank_chunks) for rank_chunks in chunks_by_rank] == [chunks] * ranks
        rows = [
            row
            for rank_chunks in chunks_by_rank
            for first, length in rank_chunks
            for row in range(first, first + length)
        ]
        assert rows == list(range(count))
        row_counts = [[length for _, length in rank_chunks] for rank_chunks in chunks_by_rank]
        assert all(max(counts) - min(counts) <= 1 for counts in row_counts)


def test_cases_on_more_gpus_than_available_are_skipped():
    sizes = workloads.complete("gemv", {"n": 5, "m": 3})
    case = Case("gemv", "mpi_cublas", sizes, {"ranks": 4, "mode": "ship"})
    for count, reason in ((0, "needs a GPU, none available"), (2, "needs 4 GPUs, 2 available")):
        target = Target("here", cores=4, gpus=count, launcher="mpiexec")
        assert str(plan.skip_reason(case, peers=True, target=target)) == reason
    assert traits.gpus(case) == 4


@needs_mpi
@pytest.mark.parametrize(("leased", "expected"), [("GPU-a", "GPU-a"), ("GPU-a,GPU-b", "GPU-a")])
def test_a_rank_sees_only_its_own_gpu(monkeypatch, leased, expected):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    MPI_CUDA.set_variables({"CUDA_VISIBLE_DEVICES": leased})
    assert os.environ["CUDA_VISIBLE_DEVICES"] == expected


@pytest.mark.parametrize(
    ("node_gpus", "rank", "expected"),
    [("abc", 0, "b"), ("abc", 1, "c"), ("de", 0, "d"), ("de", 1, "e"), ("c", 1, "c")],
)
def test_a_rank_selects_a_leased_gpu_or_one_of_its_node(monkeypatch, node_gpus, rank, expected):
    """A letter stands for a GPU's UUID; b and c are leased, and the rank's node has `node_gpus`."""
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    monkeypatch.setattr(nvidia, "gpus", lambda: [{"uuid": uuid} for uuid in node_gpus])
    monkeypatch.setattr(mpi_cuda, "node_communicator", lambda: SimpleNamespace(rank=rank))
    monkeypatch.setattr(mpi_cuda, "communicator", lambda: SimpleNamespace(allgather=lambda value: [value]))
    MPI_CUDA.set_variables({"CUDA_VISIBLE_DEVICES": "b,c"})
    assert os.environ["CUDA_VISIBLE_DEVICES"] == expected
    monkeypatch.setattr(mpi_cuda, "communicator", lambda: SimpleNamespace(allgather=lambda value: [value] * 2))
    with pytest.raises(LadderError, match="2 ranks have 1 GPU,"):
        MPI_CUDA.set_variables({"CUDA_VISIBLE_DEVICES": "b,c"})


@pytest.mark.parametrize(("nodes", "count"), [("1", 4), ("2", 2), ("3", 2), ("4", 1)])
def test_of_gpus_on_several_nodes_only_those_of_this_node_are_leased(fake_gpus, monkeypatch, nodes, count):
    fake_gpus(4)
    monkeypatch.setenv("LADDER_NODES", nodes)
    case = Case("gemv", "mpi_cublas", workloads.complete("gemv", {"n": 5, "m": 3}), {"ranks": 4, "mode": "ship"})
    with leases.lease_devices(case) as variables:
        assert len(variables["CUDA_VISIBLE_DEVICES"].split(",")) == count


@pytest.mark.parametrize(
    # The joules on the counter of each rank's GPU, the energy of a run on it, and that on three GPUs.
    ("counter", "rank_energy", "expected"),
    [
        (7.0, {"joules": 2.0, "sustained": 0.5}, {"joules": 6.0, "sustained": 0.5}),
        (None, {"joules": 2.0, "sustained": 0.5}, {}),
        (7.0, {}, {}),
    ],
)
def test_the_energy_of_ranks_is_the_sum_over_their_gpus(monkeypatch, counter, rank_energy, expected):
    monkeypatch.setattr(mpi_cuda, "communicator", lambda: SimpleNamespace(allgather=lambda value: [value] * 3))
    monkeypatch.setattr(gpus, "energy", lambda: counter)
    monkeypatch.setattr(Gpu, "energy", lambda self, run: rank_energy)
    assert MPI_CUDA.energy(None) == expected


def test_the_conditions_of_ranks_are_merged(monkeypatch):
    conditions = [{"smt": "1", "quota": 2.0}, {"smt": "1", "quota": 1.0}, {"smt": "1", "boost": "0", "quota": 2.0}]
    monkeypatch.setattr(Host, "conditions", lambda self: conditions[0])
    monkeypatch.setattr(mpi, "communicator", lambda: SimpleNamespace(allgather=lambda value: conditions))
    assert MPI.conditions() == {"smt": "1", "quota": "2.0, 1.0", "boost": "0"}


def test_ranks_of_a_node_work_in_the_memory_of_the_first_one(monkeypatch, tmp_path):
    """In this test both ranks are this process, which opens its own memory through /proc."""
    monkeypatch.setattr(cuda, "lock_pages", lambda array: None)
    first = MPI_CUDA.empty((3, 5), "float32")
    file_status = os.fstat(first.base.file)
    monkeypatch.setattr(MPI_CUDA, "is_first", lambda: False)

    def map_shared(node_ranks=(0, 1), status=file_status):
        header = os.getpid(), first.base.file, status, first.shape, first.dtype
        monkeypatch.setattr(mpi_cuda, "communicator", lambda: SimpleNamespace(rank=1, bcast=lambda _: header))
        monkeypatch.setattr(mpi_cuda, "node_communicator", lambda: SimpleNamespace(allgather=lambda rank: node_ranks))
        return MPI_CUDA.map_shared(None)

    second = map_shared()
    first[...] = [[1, 2, 3, 4, 5], [6, 7, 8, 9, 10], [11, 12, 13, 14, 15]]
    assert (second.tolist(), second.dtype) == (first.tolist(), first.dtype)
    second[2, 4] = -1
    assert first[2, 4] == -1
    assert map_shared(node_ranks=(1, 2)) is None
    with pytest.raises(LadderError, match=f"Rank 1 can't map the memory of the first rank, process {os.getpid()} of"):
        map_shared(status=tmp_path.stat())
    assert MPI_CUDA.empty((0, 5), "float64").size == 0


def test_ranks_that_share_a_gpu_are_refused():
    ranks = [{"gpu": {"uuid": uuid}} for uuid in ("a", "b", "a")]
    MPI_CUDA.require_threads(1, "cuda", {"ranks": ranks[:2]})
    with pytest.raises(LadderError, match="3 ranks have 2 GPUs"):
        MPI_CUDA.require_threads(1, "cuda", {"ranks": ranks})


def test_a_lease_of_more_gpus_than_available_is_refused(monkeypatch):
    monkeypatch.setattr(gpus, "require_gpu", lambda: ["GPU-a", "GPU-b"])
    with CUDA.lease(2) as variables:
        assert variables == {"CUDA_VISIBLE_DEVICES": "GPU-a,GPU-b"}
    with pytest.raises(LadderError, match="needs 3 GPUs, but `nvidia-smi` lists 2"), CUDA.lease(3):
        pass


@pytest.mark.parametrize(("programs", "agent"), [([], "false"), (["ssh"], None), (["rsh"], None)])
def test_open_mpi_starts_its_ranks_without_a_remote_shell(monkeypatch, programs, agent):
    monkeypatch.setattr(mpi.shutil, "which", lambda name: name in programs or None)
    variables = MPI.environment(1)
    assert {variables.get("OMPI_MCA_plm_rsh_agent"), variables.get("PRTE_MCA_plm_ssh_agent")} == {agent}
