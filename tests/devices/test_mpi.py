"""Measuring on MPI ranks: their part of a record, and that nothing hangs when one of them fails."""

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
from ladder.catalogue import workloads
from ladder.cuda import gpus
from ladder.devices import mpi, mpi_cuda
from ladder.devices.gpu import Gpu
from ladder.devices.host import Host
from ladder.errors import LadderError
from ladder.harness import environment, leases, measure
from ladder.harness import workers as starting
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
LIMIT = 60


@pytest.fixture(autouse=True)
def place(monkeypatch, tmp_path):
    """A working folder and a lock of its own, and the tests' variants."""
    monkeypatch.setenv("LADDER_VARIANTS", str(TESTS / "variants"))
    monkeypatch.chdir(tmp_path)


def case_of(ranks, **tuning):
    sizes = workloads.complete("gemm", {"m": 17, "n": 5, "k": 9})
    return Case("gemm", "on_ranks", sizes, {"ranks": ranks, "threads": 1, **tuning}, "warm")


def measured(case, launcher=LAUNCHER, protocol=None):
    full = configuration.protocol(PROTOCOL | (protocol or {}))
    measure.measure(case, "record.json", full, "here", launcher=launcher)
    return record.read("record.json")


@needs_mpi
@pytest.mark.parametrize("ranks", [2, *(pytest.param(one, marks=pytest.mark.slow) for one in (1, 3))])
def test_a_record_tells_of_every_rank(ranks):
    found = measured(case_of(ranks))
    assert found["device"] == "mpi"
    for process in found["processes"]:
        assert len(process["threads"]["ranks"]) == ranks
        for phases, by_rank in zip(process["phases"], process["by_rank"], strict=True):
            assert set(phases) == set(by_rank) == {"distribute", "product", "gather"}
            assert all(len(spent) == ranks and max(spent) == phases[name] for name, spent in by_rank.items())


@needs_mpi
@pytest.mark.parametrize(
    ("fault", "sentence"),
    [
        ("raises", "The variant stopped with ValueError: something is wrong here"),
        pytest.param("ends", "measuring process", marks=pytest.mark.slow),
        pytest.param("leaves", "stopped with SystemExit", marks=pytest.mark.slow),
        ("killed", "measuring process"),
    ],
)
def test_a_rank_that_fails_ends_the_job_with_a_sentence_and_leaves_nobody(fault, sentence):
    began = time.monotonic()
    with pytest.raises(LadderError, match=sentence):
        measured(case_of(3, fault=fault))
    assert time.monotonic() - began < LIMIT
    assert not Path("record.json").exists()
    assert nobody_is_left()


@needs_mpi
def test_a_killed_measurement_takes_its_ranks_along():
    case = case_of(2)
    command = [sys.executable, "-m", "ladder", "measure", "gemm", "on_ranks", case.slug, "--out", "x.json"]
    protocol = '{"cap": 50, "least": 100000, "most": 100000}'
    process = subprocess.Popen([*command, "--machine", "here", "--launcher", LAUNCHER, "--protocol", protocol])
    for _ in range(20 * LIMIT):
        time.sleep(0.05)
        if len(workers()) >= 2:
            break
    else:
        pytest.fail("no ranks came")
    process.kill()
    process.wait()
    assert nobody_is_left()
    assert not Path("x.json").exists()


def workers():
    """The processes that work for a measurement in this folder."""
    found = []
    for process in psutil.process_iter(["cmdline", "cwd"]):
        here = process.info["cwd"] == str(Path.cwd())
        if here and "ladder.harness.worker" in (process.info["cmdline"] or []):
            found.append(process)
    return found


def in_this_folder(*names):
    """The processes of these names that run in this folder."""
    found = psutil.process_iter(["name", "cwd"])
    return [one for one in found if one.info["name"] in names and one.info["cwd"] == str(Path.cwd())]


def nobody_is_left(found=workers):
    """Whether the ranks that `found` finds end within some seconds: killing them takes a moment."""
    for _ in range(100):
        if not found():
            return True
        time.sleep(0.1)
    return False


@needs_mpi
def test_a_rank_that_is_bound_to_fewer_cpus_than_it_has_threads_is_a_sentence():
    found = {"ranks": [{"cpus": 1, "runtimes": {"numba-omp": 2}}]}
    with pytest.raises(LadderError, match="Rank 0 has 2 threads, but may only use 1 CPU: have the launcher, the"):
        MPI.require_threads(2, "numba", found)


@needs_mpi
def test_a_wrong_result_of_one_rank_is_refused(monkeypatch, tmp_path):
    wrong = (TESTS / "variants/gemm/on_ranks.py").read_text()
    wrong = wrong.replace('mine["out"] = mine["a"]', 'mine["out"] = (world.rank != ranks - 1) * mine["a"]')
    folder = tmp_path / "variants/gemm"
    folder.mkdir(parents=True)
    (folder / "lazy_rank.py").write_text(wrong)
    monkeypatch.setenv("LADDER_VARIANTS", str(tmp_path / "variants"))
    case = case_of(2)
    with pytest.raises(LadderError, match="product"):
        measured(Case("gemm", "lazy_rank", case.sizes, case.tuning, "warm"))


def test_without_a_launcher_cases_of_several_ranks_are_left_out(monkeypatch):
    assert "MPI launcher" in str(plan.skip_reason(case_of(2), True, Target("here", 4)))
    assert "needs 4 cores" in str(plan.skip_reason(case_of(2, threads=2), True, Target("here", 3)))
    with pytest.raises(LadderError, match="no MPI launcher: name one"):
        measured(case_of(2), launcher=None)
    assert MPI.command(case_of(1), None) == []
    monkeypatch.setattr(shutil, "which", lambda name: None)
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    assert programs.launcher("auto") is None
    assert programs.launcher("srun --mpi=pmi2") == "srun --mpi=pmi2"


def test_a_launcher_beside_python_is_found_in_a_folder_with_blanks_in_its_name(tmp_path, monkeypatch):
    beside = tmp_path / "it's & mine/mpiexec"
    beside.parent.mkdir()
    beside.touch(0o755)
    monkeypatch.setattr(sys, "executable", str(beside.with_name("python")))
    assert MPI.command(case_of(2), programs.launcher("auto")) == [str(beside), "-n", "2"]


def test_a_launcher_that_is_not_there_is_a_sentence():
    with pytest.raises(LadderError, match=r"'/nowhere/mpiexec' can't be started: .* with the key `mpi`"):
        measured(case_of(2), launcher="/nowhere/mpiexec")


def test_a_launcher_that_ends_before_its_ranks_are_ready_is_doubted(tmp_path):
    """Like Open MPI's with MPICH's ranks."""
    other = tmp_path / "otherexec"
    other.write_text("#!/bin/sh\nexit 16\n")
    other.chmod(0o755)
    with pytest.raises(LadderError, match=r"ended with status 16 \(does the launcher, the key `mpi`, belong to"):
        measured(case_of(2), launcher=str(other))


@pytest.mark.parametrize("script", ["sleep 60 | cat", "sleep 60 &"])
def test_a_launcher_whose_ranks_never_come_is_given_up_and_leaves_nobody(tmp_path, monkeypatch, script):
    other = tmp_path / "mpiexec"
    other.write_text(f"#!/bin/sh\n{script}\n")
    other.chmod(0o755)
    monkeypatch.setattr(starting, "START", 0.5)
    began = time.monotonic()
    with pytest.raises(LadderError, match=r"wasn't ready after 0\.5 s: does the launcher, the key `mpi`"):
        measured(case_of(2), str(other), {"processes": 3, "most_processes": 3})
    assert time.monotonic() - began < LIMIT
    assert nobody_is_left(lambda: in_this_folder("sleep", "cat"))


@pytest.mark.slow
def test_a_launcher_that_has_to_be_killed_leaves_its_guard_time_to_end_the_ranks(tmp_path, monkeypatch):
    """Like srun's: ranks on other nodes are ended by a process that notices its death."""
    other = tmp_path / "mpiexec"
    other.write_text(
        f"#!{Path(sys.executable).resolve()}\n"
        "import os, pathlib, signal, time\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "eyes, life = os.pipe()\n"
        "if os.fork():\n"
        "    time.sleep(60)\n"
        "os.close(life)\n"
        "os.read(eyes, 1)\n"
        "time.sleep(0.2)\n"
        "pathlib.Path('ended').touch()\n"
    )
    other.chmod(0o755)
    monkeypatch.setattr(starting, "START", 1)
    monkeypatch.setattr(starting, "PATIENCE", 1)
    with pytest.raises(LadderError, match="wasn't ready after 1 s"):
        measured(case_of(2), str(other))
    assert Path("ended").exists()


@pytest.mark.parametrize(
    ("ranks", "launcher", "job", "may"),
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
def test_groups_of_ranks_wait_together_where_nobody_shares_out_a_job(monkeypatch, ranks, launcher, job, may):
    monkeypatch.setattr(mpi.description, "slurm", lambda: job)
    assert MPI.share_start(case_of(ranks), launcher) == may


JOB = {"SLURM_JOB_ID": "7", "SLURM_JOB_NODELIST": "c1", "SLURM_NODELIST": "c1", "SLURM_TASKS_PER_NODE": "1"}


@pytest.mark.parametrize(
    ("job", "here"),
    [
        ({}, False),
        (JOB | {"SLURM_JOB_NUM_NODES": "1"}, True),
        (JOB | {"SLURM_NNODES": "1"}, True),
        (JOB | {"SLURM_JOB_NUM_NODES": "2"}, False),
    ],
)
def test_in_a_job_of_one_node_an_mpiexec_starts_its_ranks_itself(monkeypatch, job, here):
    for name, value in job.items():
        monkeypatch.setenv(name, value)
    assert (MPI.environment(1).get("HYDRA_LAUNCHER") == "fork") is here
    monkeypatch.setenv("HYDRA_BOOTSTRAP", "fork")  # of the user's, which no worker gets
    assert (environment.of_worker(case_of(2)).get("HYDRA_LAUNCHER") == "fork") is here


@pytest.mark.parametrize("name", mpi.BOOTSTRAPS)
def test_a_prelude_or_a_case_selects_how_an_mpiexec_starts_its_ranks(monkeypatch, name):
    for variable, value in (JOB | {"SLURM_JOB_NUM_NODES": "1"}).items():
        monkeypatch.setenv(variable, value)
    case = replace(case_of(2), variables={name: "ssh"})
    for made in (environment.of_worker(case_of(2), {name: "ssh"}), environment.of_worker(case)):
        assert {variable: made[variable] for variable in mpi.BOOTSTRAPS if variable in made} == {name: "ssh"}


@pytest.mark.parametrize(
    ("nodes", "launcher", "programs", "given", "will_do"),
    [
        ("2", "mpiexec", ["mpiexec"], {}, False),
        ("2", "mpiexec", ["mpiexec", "srun"], {}, True),
        ("2", "mpiexec", ["mpiexec"], {"HYDRA_BOOTSTRAP": "ssh"}, True),
        ("2", "jsrun", ["jsrun"], {}, True),
        ("1", "mpiexec", ["mpiexec"], {}, True),
    ],
)
def test_several_nodes_without_srun_are_a_sentence_before_ranks_start(
    monkeypatch, nodes, launcher, programs, given, will_do
):
    monkeypatch.setattr(mpi.description, "slurm", lambda: {"SLURM_JOB_NUM_NODES": nodes})
    monkeypatch.setattr(mpi.shutil, "which", lambda name: name if name in programs else None)
    told = "mpiexec starts the ranks of a Slurm job on 2 nodes by `srun`, which isn't on the PATH"
    with contextlib.nullcontext() if will_do else pytest.raises(LadderError, match=told):
        assert MPI.command(case_of(2), launcher, given) == [launcher, "-n", "2"]


@needs_mpi
@pytest.mark.slow
def test_in_a_job_of_one_node_ranks_are_measured(monkeypatch):
    """Without that, MPICH's mpiexec would start an srun."""
    for name, value in (JOB | {"SLURM_JOB_NUM_NODES": "1"}).items():
        monkeypatch.setenv(name, value)
    assert measured(case_of(2))["slurm"]["SLURM_JOB_ID"] == "7"


@pytest.fixture
def shared_memory(monkeypatch):
    """A function that sets the free MB and files of the memory through which the ranks of a node exchange data."""
    mpi.require_memory.cache_clear()

    def free(megabytes, files=100):
        found = SimpleNamespace(f_bavail=megabytes, f_frsize=1_000_000, f_files=files and 100, f_favail=files)
        monkeypatch.setattr(mpi, "os", SimpleNamespace(environ=os.environ, statvfs=lambda folder: found))

    yield free
    mpi.require_memory.cache_clear()


@pytest.mark.parametrize("name", ["MPI_LOCALNRANKS", "OMPI_COMM_WORLD_LOCAL_SIZE"])
@pytest.mark.parametrize(
    ("ranks", "megabytes", "will_do"), [(1, 1, True), (2, 19, False), (2, 20, True), (8, 55, False)]
)
def test_little_shared_memory_is_a_sentence_before_mpi_starts(
    monkeypatch, shared_memory, name, ranks, megabytes, will_do
):
    monkeypatch.setenv(name, str(ranks))
    shared_memory(megabytes)
    told = rf"/dev/shm, .*, has {megabytes} MB free, but {ranks} ranks need \d+: enlarge it"
    with contextlib.nullcontext() if will_do else pytest.raises(LadderError, match=told):
        mpi.require_memory()


def test_groups_start_one_after_the_other_where_shared_memory_is_little(shared_memory):
    shared_memory(159)
    assert not MPI.share_start(case_of(2), "mpiexec")
    shared_memory(160)
    assert MPI.share_start(case_of(2), "mpiexec")


@pytest.mark.parametrize(("ranks", "files", "will_do"), [(2, 7, False), (2, 8, True), (4, 8, False), (2, None, True)])
def test_shared_memory_without_room_for_files_is_a_sentence_before_mpi_starts(
    monkeypatch, shared_memory, ranks, files, will_do
):
    monkeypatch.setenv("MPI_LOCALNRANKS", str(ranks))
    shared_memory(1000, files)
    told = rf"/dev/shm, .*, has no room for the {4 + 2 * ranks} files of {ranks} ranks, but for {files} "
    with contextlib.nullcontext() if will_do else pytest.raises(LadderError, match=told):
        mpi.require_memory()


def test_a_missing_place_of_shared_memory_is_a_sentence_unless_a_rank_is_alone(monkeypatch, shared_memory, tmp_path):
    monkeypatch.setattr(mpi, "SHARED", tmp_path / "nowhere")
    mpi.require_memory()
    mpi.require_memory.cache_clear()
    monkeypatch.setenv("MPI_LOCALNRANKS", "2")
    with pytest.raises(LadderError, match=r"nowhere, through which .* is missing: mount it"):
        mpi.require_memory()
    assert not MPI.share_start(case_of(2), "mpiexec")


@needs_mpi
@pytest.mark.skipif(os.geteuid() != 0, reason="mounts a file system, as root")
@pytest.mark.slow
def test_ranks_in_a_container_with_little_shared_memory_are_a_sentence(tmp_path):
    launcher = tmp_path / "mpiexec"
    mount = "mount -t tmpfs -o size=16m tmpfs /dev/shm"
    launcher.write_text(f'#!/bin/sh\nexec unshare -m sh -c \'{mount}; exec "$@"\' sh {LAUNCHER} "$@"\n')
    launcher.chmod(0o755)
    with pytest.raises(LadderError, match=r"/dev/shm, .* 17 MB free, but 2 ranks need 20"):
        measured(case_of(2), str(launcher))


@needs_mpi
def test_ranks_that_wait_measure_when_their_turn_comes():
    assert len(measured(case_of(2), protocol={"processes": 2, "most_processes": 2})["processes"]) == 2
    assert nobody_is_left()


@needs_mpi
def test_the_launcher_of_another_mpi_is_a_sentence(tmp_path):
    """It starts the processes, each of which believes to be alone."""
    other = tmp_path / "otherexec"
    other.write_text('#!/bin/sh\nshift 2\n"$@" </dev/null &\nexec "$@"\n')
    other.chmod(0o755)
    with pytest.raises(LadderError, match="doesn't belong to the MPI that mpi4py loads"):
        measured(case_of(2), launcher=str(other))


def test_without_mpi_a_sentence_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "mpi4py", None)
    with pytest.raises(LadderError, match=r"MPI can't be used: .*pip install"):
        mpi.communicator()


def test_an_mpi4py_that_finds_no_mpi_is_a_sentence(monkeypatch):
    class Missing:
        def __getattr__(self, name):
            if name != "MPI":
                raise AttributeError(name)
            raise RuntimeError("cannot load MPI library")

    monkeypatch.setitem(sys.modules, "mpi4py", Missing())
    with pytest.raises(LadderError, match=r"mpi4py finds no MPI \(cannot load MPI library\): `pip install mpich`"):
        mpi.communicator()


class World(SimpleNamespace):
    """As much of a communicator as a rank asks for, where the others answer as it is told."""

    rank, size = 1, 3

    def Barrier(self):
        self.clock[0] += 5_000_000_000  # the slowest rank comes late

    def iprobe(self, source, tag):
        return not self.naps or len(self.naps) >= 12

    def recv(self, source, tag):
        self.received = source, tag
        return "go"

    def send(self, line, rank, tag):
        self.sent.append((line, rank, tag))

    def allgather(self, own):
        return self.answers(own)


@pytest.fixture
def world(monkeypatch):
    """The communicator of three ranks, and a clock in ns which their work and their naps move."""
    found = World(clock=[7_000_000_000], naps=[None], sent=[], answers=lambda own: [own] * 3)
    times = SimpleNamespace(perf_counter_ns=lambda: found.clock[0], sleep=found.naps.append)
    monkeypatch.setattr(mpi, "communicator", lambda: found)
    monkeypatch.setattr(mpi, "time", times)
    return found


def test_a_call_on_ranks_takes_the_seconds_of_the_slowest_from_the_barrier_on(world):
    def run():
        world.clock[0] += 1_500_000_000

    world.answers = lambda own: [0.25, own, 0.75]
    assert MPI.stopwatch(run) == 1.5
    assert MPI.by_rank() == [0.25, 1.5, 0.75]
    world.answers = lambda own: [0.25, own, 2.0]
    assert MPI.stopwatch(run) == 2.0


def test_ranks_sleep_until_the_first_one_has_an_order(world, monkeypatch):
    assert MPI.receive() == "go"
    naps = world.naps[1:]
    assert naps[:3] == [1e-3, 2e-3, 4e-3]
    assert max(naps) == naps[-1] == mpi.NAP
    monkeypatch.setattr(world, "rank", 0)
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(readline=lambda: "line\n"))
    assert MPI.receive() == "line\n"
    assert world.sent == [("line\n", rank, world.received[1]) for rank in (1, 2)]
    assert world.received[0] == 0


def test_cases_on_ranks_are_left_out_where_mpi4py_finds_no_mpi(monkeypatch):
    pytest.importorskip("mpi4py")
    made = plan.variables.inherited() | {"MPI4PY_LIBMPI": "/nowhere/libmpi.so"}
    monkeypatch.setattr(plan.variables, "inherited", lambda: made)
    monkeypatch.setattr(plan, "finds_mpi", plan.finds_mpi.__wrapped__)
    sizes = workloads.complete("gemv", {"n": 5, "m": 3})
    for ranks in (1, 2):
        case = Case("gemv", "mpi", sizes, {"ranks": ranks, "mode": "ship"})
        assert str(plan.skip_reason(case, True, Target("here", 2, launcher="mpiexec"))) == "mpi4py finds no MPI"
        assert plan.skip_reason(case, True, Target("there", 2, launcher="srun", slurm_resources={"nodes": 1})) is None


# The matrix-vector product


def products(ranks, *arguments):
    """The output of `gemv_on_ranks.py` on this number of ranks; an error on one of them ends all."""
    threads = {"NUMBA_NUM_THREADS": "2", "OMP_NUM_THREADS": "2", "NUMBA_THREADING_LAYER": "omp"}
    script = TESTS / "gemv_on_ranks.py"
    command = [*MPI.command(case_of(ranks), LAUNCHER), sys.executable, "-m", "mpi4py", script, *map(str, arguments)]
    # mpi4py replaces the first entry of sys.path, which is the working folder only without PYTHONSAFEPATH.
    environment = MPI.environment(1) | os.environ | threads | {"PYTHONSAFEPATH": ""}
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600)


@pytest.mark.slow
@needs_mpi
@pytest.mark.parametrize("ranks", [1, 3, 4])
def test_products_are_right_at_every_size_and_mode_with_fewer_rows_than_ranks_too(ranks):
    done = products(ranks)
    assert done.stdout.splitlines()[-1:] == [f"216 products were right on {ranks} ranks"], done.stderr


@pytest.mark.exhaustive
@needs_mpi
@pytest.mark.skipif(psutil.virtual_memory().available < 20 * 2**30, reason="requires 20 GiB of free memory")
def test_a_part_of_more_than_two_to_the_31_bytes_travels():
    done = products(2, 66_000, 8192)
    assert done.stdout.splitlines()[-1:] == ["1 products were right on 2 ranks"], done.stderr


@needs_mpi
@pytest.mark.parametrize(("mode", "prepared"), [("ship", False), ("resident", True)])
def test_a_resident_matrix_is_sent_outside_the_timed_call(mode, prepared):
    from ladder.harness import worker
    from ladder.workloads.gemv import mpi as variant

    sizes = workloads.complete("gemv", {"n": 5, "m": 3})
    problem = worker.make_problem(workloads.load("gemv"), Case("gemv", "mpi", sizes, {"ranks": 1, "mode": mode}), MPI)
    steps = variant.setup(problem, ranks=1, mode=mode)
    assert [name for name, _ in steps.run][-3:] == ["broadcast", "compute", "gather"]
    assert ("scatter" in dict(steps.prepare), "scatter" in dict(steps.run)) == (prepared, not prepared)


# Ranks with a GPU each

on_cards = [
    needs_mpi,
    pytest.mark.gpu,
    pytest.mark.skipif(not nvidia.gpus() or not LAUNCHER, reason="requires NVIDIA GPUs and MPI"),
]


@pytest.fixture
def late_cards(cards, monkeypatch):
    """Four simulated GPUs, and a stand-in for CuPy."""
    cards(4)
    monkeypatch.setenv("PYTHONPATH", str(TESTS / "fake_cupy"), prepend=os.pathsep)


def all_products(ranks):
    done = products(ranks, "--cards")
    assert done.stdout.splitlines()[-1:] == [f"360 products were right on {ranks} ranks"], done.stderr


@pytest.mark.slow
@needs_mpi
@pytest.mark.parametrize("ranks", [1, 3])
def test_products_on_cards_wait_for_what_they_need(late_cards, ranks):
    all_products(ranks)


def of_cards(variant, ranks):
    """A record of a variant whose ranks had a GPU each."""
    sizes = workloads.complete("gemv", {"n": 1000, "m": 500})
    found = measured(Case("gemv", variant, sizes, {"ranks": ranks, "mode": "ship", "chunks": 1}, "warm"))
    assert found["device"] == "mpi_cuda"
    for process in found["processes"]:
        assert len({rank["gpu"]["uuid"] for rank in process["threads"]["ranks"]}) == ranks
        assert set(process["by_rank"][0]) == {"broadcast", "scatter", "compute", "gather"}


@needs_mpi
@pytest.mark.parametrize("variant", [pytest.param("mpi_cublas", marks=pytest.mark.slow), "nccl_cublas"])
def test_a_record_tells_of_every_late_card(late_cards, variant):
    of_cards(variant, 3)


@needs_mpi
def test_a_graph_has_a_resident_matrix(late_cards):
    tuning = {"ranks": 2, "mode": "ship", "chunks": 1, "graph": "on"}
    with pytest.raises(LadderError, match=r"graph=on needs mode=resident, but has mode=ship\."):
        measured(Case("gemv", "nccl_cublas", workloads.complete("gemv", {"n": 5, "m": 3}), tuning))


@needs_mpi
@pytest.mark.parametrize(
    ("chunks", "phases"),
    [pytest.param(1, {"compute", "gather"}, marks=pytest.mark.slow), (2, {"compute and gather"})],
)
def test_a_record_of_a_graph_has_the_phases_that_are_in_it(late_cards, chunks, phases):
    sizes = workloads.complete("gemv", {"n": 1000, "m": 500})
    tuning = {"ranks": 2, "mode": "resident", "chunks": chunks, "graph": "on"}
    found = measured(Case("gemv", "nccl_cublas", sizes, tuning, "warm"))
    assert set(found["processes"][0]["phases"][0]) == {"scatter", "broadcast", *phases}


@pytest.mark.parametrize("ranks", [pytest.param(ranks, marks=on_cards) for ranks in (1, 2, 4)])
def test_products_on_cards_are_right_at_every_size(ranks):
    if ranks > len(nvidia.gpus()):
        pytest.skip(f"requires {ranks} NVIDIA GPUs")
    all_products(ranks)


@pytest.mark.parametrize("variant", [pytest.param(one, marks=on_cards) for one in ("mpi_cublas", "nccl_cublas")])
def test_a_record_tells_of_every_card(variant):
    of_cards(variant, min(2, len(nvidia.gpus())))


def test_pieces_are_all_rows_once_in_order_and_differ_by_at_most_one():
    from ladder.workloads.gemv.gpus import split_rows

    for count, ranks, chunks in [(1, 1, 1), (1, 3, 2), (17, 4, 3), (4097, 2, 8)]:
        parts = split_rows(count, ranks, chunks)
        assert [len(pieces) for pieces in parts] == [chunks] * ranks
        rows = [row for pieces in parts for first, length in pieces for row in range(first, first + length)]
        assert rows == list(range(count))
        assert all(max(sizes) - min(sizes) <= 1 for sizes in ([length for _, length in pieces] for pieces in parts))


def test_cases_on_more_cards_than_there_are_are_left_out():
    sizes = workloads.complete("gemv", {"n": 5, "m": 3})
    case = Case("gemv", "mpi_cublas", sizes, {"ranks": 4, "mode": "ship"})
    for count, why in ((0, "needs a GPU, none available"), (2, "needs 4 GPUs, 2 available")):
        assert str(plan.skip_reason(case, True, Target("here", 4, count, "mpiexec"))) == why
    assert workloads.gpus(case) == 4


@needs_mpi
@pytest.mark.parametrize(("leased", "own"), [("GPU-a", "GPU-a"), ("GPU-a,GPU-b", "GPU-a")])
def test_a_rank_sees_its_own_card_alone(monkeypatch, leased, own):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    MPI_CUDA.set_variables({"CUDA_VISIBLE_DEVICES": leased})
    assert os.environ["CUDA_VISIBLE_DEVICES"] == own


@pytest.mark.parametrize(
    ("here", "number", "own"),
    [("abc", 0, "b"), ("abc", 1, "c"), ("de", 0, "d"), ("de", 1, "e"), ("c", 1, "c")],
)
def test_a_rank_takes_a_leased_card_or_on_another_node_one_of_its_own(monkeypatch, here, number, own):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    monkeypatch.setattr(nvidia, "gpus", lambda: [{"uuid": uuid} for uuid in here])
    monkeypatch.setattr(mpi_cuda, "neighbours", lambda: SimpleNamespace(rank=number))
    monkeypatch.setattr(mpi_cuda, "communicator", lambda: SimpleNamespace(allgather=lambda value: [value]))
    MPI_CUDA.set_variables({"CUDA_VISIBLE_DEVICES": "b,c"})
    assert os.environ["CUDA_VISIBLE_DEVICES"] == own
    monkeypatch.setattr(mpi_cuda, "communicator", lambda: SimpleNamespace(allgather=lambda value: [value] * 2))
    with pytest.raises(LadderError, match="2 ranks have 1 GPU,"):
        MPI_CUDA.set_variables({"CUDA_VISIBLE_DEVICES": "b,c"})


@pytest.mark.parametrize(("nodes", "held"), [("1", 4), ("2", 2), ("3", 2), ("4", 1)])
def test_of_cards_on_several_nodes_those_of_this_one_are_held(cards, monkeypatch, nodes, held):
    cards(4)
    monkeypatch.setenv("LADDER_NODES", nodes)
    case = Case("gemv", "mpi_cublas", workloads.complete("gemv", {"n": 5, "m": 3}), {"ranks": 4, "mode": "ship"})
    with leases.lease_devices(case) as variables:
        assert len(variables["CUDA_VISIBLE_DEVICES"].split(",")) == held


@pytest.mark.parametrize(
    ("counter", "of_one", "found"),
    [
        (7.0, {"joules": 2.0, "sustained": 0.5}, {"joules": 6.0, "sustained": 0.5}),
        (None, {"joules": 2.0, "sustained": 0.5}, {}),
        (7.0, {}, {}),
    ],
)
def test_the_energy_of_ranks_is_that_of_all_their_cards(monkeypatch, counter, of_one, found):
    monkeypatch.setattr(mpi_cuda, "communicator", lambda: SimpleNamespace(allgather=lambda value: [value] * 3))
    monkeypatch.setattr(gpus, "energy", lambda: counter)
    monkeypatch.setattr(Gpu, "energy", lambda self, run: of_one)
    assert MPI_CUDA.energy(None) == found


def test_the_conditions_of_ranks_are_those_of_all(monkeypatch):
    of_ranks = [{"smt": "1", "quota": 2.0}, {"smt": "1", "quota": 1.0}, {"smt": "1", "boost": "0", "quota": 2.0}]
    monkeypatch.setattr(Host, "conditions", lambda self: of_ranks[0])
    monkeypatch.setattr(mpi, "communicator", lambda: SimpleNamespace(allgather=lambda own: of_ranks))
    assert MPI.conditions() == {"smt": "1", "quota": "2.0, 1.0", "boost": "0"}


def test_ranks_of_a_node_work_in_the_memory_of_the_first_one(monkeypatch, tmp_path):
    """Here both are this process, which opens its own memory by the way of another's."""
    monkeypatch.setattr(cuda, "lock_pages", lambda array: None)
    first = MPI_CUDA.empty((3, 5), "float32")
    own = os.fstat(first.base.file)
    monkeypatch.setattr(MPI_CUDA, "is_first", lambda: False)

    def shared(node=(0, 1), status=own):
        told = os.getpid(), first.base.file, status, first.shape, first.dtype
        monkeypatch.setattr(mpi_cuda, "communicator", lambda: SimpleNamespace(rank=1, bcast=lambda _: told))
        monkeypatch.setattr(mpi_cuda, "neighbours", lambda: SimpleNamespace(allgather=lambda rank: node))
        return MPI_CUDA.shared(None)

    second = shared()
    first[...] = [[1, 2, 3, 4, 5], [6, 7, 8, 9, 10], [11, 12, 13, 14, 15]]
    assert (second.tolist(), second.dtype) == (first.tolist(), first.dtype)
    second[2, 4] = -1
    assert first[2, 4] == -1
    assert shared(node=(1, 2)) is None
    with pytest.raises(LadderError, match=f"Rank 1 can't map the memory of the first rank, process {os.getpid()} of"):
        shared(status=tmp_path.stat())
    assert MPI_CUDA.empty((0, 5), "float64").size == 0


def test_ranks_that_share_a_card_are_refused():
    cards = [{"gpu": {"uuid": uuid}} for uuid in ("a", "b", "a")]
    MPI_CUDA.require_threads(1, "cuda", {"ranks": cards[:2]})
    with pytest.raises(LadderError, match="3 ranks have 2 GPUs"):
        MPI_CUDA.require_threads(1, "cuda", {"ranks": cards})


def test_more_cards_than_there_are_are_refused(monkeypatch):
    monkeypatch.setattr(gpus, "require_gpu", lambda: ["GPU-a", "GPU-b"])
    with CUDA.lease(2) as variables:
        assert variables == {"CUDA_VISIBLE_DEVICES": "GPU-a,GPU-b"}
    with pytest.raises(LadderError, match="needs 3 GPUs, but `nvidia-smi` lists 2"), CUDA.lease(3):
        pass


@pytest.mark.parametrize(("programs", "agent"), [([], "false"), (["ssh"], None), (["rsh"], None)])
def test_open_mpi_starts_its_ranks_where_no_remote_shell_is_installed(monkeypatch, programs, agent):
    monkeypatch.setattr(mpi.shutil, "which", lambda name: name in programs or None)
    made = MPI.environment(1)
    assert {made.get("OMPI_MCA_plm_rsh_agent"), made.get("PRTE_MCA_plm_ssh_agent")} == {agent}
