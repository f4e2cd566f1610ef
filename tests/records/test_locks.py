"""Locks for timing: one job per machine, or per GPU, whatever the environment; a waiting process reports the holder."""

import contextlib
import fcntl
import json
import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from conftest import ROOT
from ladder.build import compiler, libraries
from ladder.errors import LadderError
from ladder.records import holders, locks, runs

HOLDER = """
import sys, time
from pathlib import Path
from ladder.machine import processes
from ladder.records import locks
locks.FOLDERS = tuple(map(Path, sys.argv[2:]))
with locks.timing_lock(shared=sys.argv[1] == "shared"):
    print("holds", flush=True)
    if sys.argv[1] == "started":
        processes.run(["sh", "-c", "sleep 60 & echo $!; wait"])
    time.sleep(60)
"""


# The threads of this test that wait for a lock, or have waited.
waiting = []


@pytest.fixture(autouse=True)
def folders(tmp_path, monkeypatch):
    """The two folders of a machine's locks, private to a test."""
    folders = tmp_path / "tmp", tmp_path / "shm"
    for folder in folders:
        folder.mkdir()
    monkeypatch.setattr(locks, "FOLDERS", folders)
    yield folders
    while waiting:  # nobody must open the folders of the next test
        waiting.pop().join(10)


def files(name="timing"):
    return [folder / f"ladder-{name}-{os.getuid()}.lock" for folder in locks.FOLDERS]


def entered(context, seconds=0.2):
    """Whether a context can be entered while others hold their locks; it is left immediately."""
    there = threading.Event()

    def enter():
        with context:
            there.set()

    thread = threading.Thread(target=enter, daemon=True)
    thread.start()
    waiting.append(thread)
    return there.wait(seconds)


@contextlib.contextmanager
def holder(kind="alone", **variables):
    """Another process that holds the machine for timing."""
    environment = {"PYTHONPATH": str(ROOT / "src"), "PATH": os.environ["PATH"], **variables}
    line = [sys.executable, "-c", HOLDER, kind, *map(str, locks.FOLDERS)]
    with subprocess.Popen(line, env=environment, cwd=locks.FOLDERS[0], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout.readline() == "holds\n"
            yield process
        finally:
            process.kill()


def test_a_machine_is_held_by_one_or_shared_by_cards():
    with locks.timing_lock():
        assert not entered(locks.timing_lock())
    with locks.timing_lock(shared=True):
        assert entered(locks.timing_lock(shared=True), 10)
        assert not entered(locks.timing_lock())


def test_a_lock_that_is_free_in_one_of_its_folders_alone_is_waited_for():
    """As briefly happens while its holder releases it: a process that tries then must not block itself."""
    with locks.open_private(locks.FOLDERS[1] / f"ladder-timing-{os.getuid()}.lock") as last:
        fcntl.flock(last, fcntl.LOCK_EX)
        threading.Timer(0.2, lambda: fcntl.flock(last, fcntl.LOCK_UN)).start()
        assert entered(locks.timing_lock(shared=True), 10)


def test_each_job_holds_a_card_of_its_own_and_the_next_waits_for_one():
    with locks.first_free_lock(["a", "b"]) as first:
        with locks.first_free_lock(["a", "b"]) as second:
            assert (first, second) == ("a", "b")
            assert not entered(locks.first_free_lock(["a", "b"]))
        time.sleep(0.2)  # the one that waited has had its turn
        with locks.first_free_lock(["a", "b"]) as third:
            assert third == "b"


def test_no_variable_moves_the_locks_of_a_machine(folders):
    """A login and a cron job."""
    elsewhere = dict.fromkeys(("XDG_RUNTIME_DIR", "TMPDIR", "TEMP", "HOME"), str(folders[0].parent))
    with holder(**elsewhere):
        assert not entered(locks.timing_lock())


def test_outside_tests_the_folders_are_the_machine_s():
    line = [sys.executable, "-c", "from ladder.records import locks; print(*locks.FOLDERS)"]
    environment = {"PYTHONPATH": str(ROOT / "src"), "LADDER_TESTS_LOCKS": "/nowhere", "TMPDIR": "/nowhere"}
    found = subprocess.run(line, env=environment, capture_output=True, text=True, check=True).stdout
    assert found == "/tmp /dev/shm\n"


@pytest.mark.parametrize("which", [0, 1])
def test_one_folder_that_two_have_in_common_is_enough(folders, monkeypatch, which, tmp_path):
    """A service has a /tmp of its own; a cleaner deletes a file of /tmp that is held."""
    with holder():
        own = list(folders)
        own[which] = tmp_path / "own"
        own[which].mkdir()
        monkeypatch.setattr(locks, "FOLDERS", tuple(own))
        assert not entered(locks.timing_lock())


def test_who_waits_for_a_file_that_is_deleted_takes_its_successor():
    """Else it would hold what no later process sees."""
    with locks.timing_lock():
        thread = threading.Thread(target=lambda: entered(locks.timing_lock(), 5), daemon=True)
        thread.start()
        time.sleep(0.1)
        for path in files():
            path.unlink()
    thread.join()
    assert all(path.exists() for path in files())
    with locks.timing_lock():
        assert not entered(locks.timing_lock())


def test_holders_that_follow_each_other_let_in_who_needs_the_machine_alone():
    with locks.timing_lock(shared=True):
        alone = threading.Thread(target=entered, args=(locks.timing_lock(), 5), daemon=True)
        alone.start()
        time.sleep(0.1)
        assert not entered(locks.timing_lock(shared=True))
    alone.join(5)
    assert not alone.is_alive()


def waited(capsys, context=None):
    """The message on standard error, printed once, while a lock is waited for, by default the machine's."""
    threading.Thread(target=entered, args=(context or locks.timing_lock(),), daemon=True).start()
    deadline, said = time.monotonic() + 10, ""
    while not said.endswith("\n") and time.monotonic() < deadline:
        time.sleep(0.02)
        said += capsys.readouterr().err
    assert said.count("\n") == 1
    return said.strip()


def test_who_waits_says_for_whom_and_since_when(capsys, folders):
    with holder() as process:
        said = waited(capsys)
    since = said[-9:-1]
    assert time.strptime(since, "%H:%M:%S")
    who = f"`-c alone {folders[0]} {folders[1]}`, process {process.pid} in {folders[0]}"
    assert said == f"ladder: waits for {who}, which has held the machine for timing since {since}."


def test_who_waits_for_several_says_so(capsys):
    with holder("shared") as first, holder("shared"):
        said = waited(capsys)
    assert f"process {first.pid} in " in said
    assert " and 1 more, which have held " in said


@pytest.mark.parametrize("text", ["", "{", '{"process": 1}\n', "[]\n5\n", "\x00\xff", '{"process": "\ud800"}'])
def test_a_holder_that_says_nothing_sensible_is_waited_for_all_the_same(capsys, text):
    with locks.timing_lock():
        for path in files():
            path.write_bytes(text.encode(errors="surrogatepass"))
        assert waited(capsys) == "ladder: waits for another process, which holds the machine for timing."


def test_what_a_holder_says_is_one_line(capsys):
    odd = holders.signature() | {"does": "a\nb\x1b[1m", "since": 1e300, "process": 10**30}
    with locks.timing_lock():
        for path in files():
            path.write_text(json.dumps(odd))
        assert waited(capsys).startswith("ladder: waits for `a?b?[1m`, process 1")


def test_who_waits_for_a_card_or_for_a_folder_says_so_too(capsys, tmp_path):
    with locks.first_free_lock(["GPU-1"]):
        assert f"process {os.getpid()} in " in (said := waited(capsys, locks.first_free_lock(["GPU-1"])))
        assert ", which has held GPU-1 since " in said
    with locks.folder_lock(tmp_path / "build"):
        said = waited(capsys, locks.folder_lock(tmp_path / "build"))
    assert f", which has held {tmp_path / 'build'} for compiling since " in said


def test_nothing_is_said_where_nobody_waits(capsys):
    for shared in (False, True):
        with locks.timing_lock(shared=shared), locks.first_free_lock(["a"]):
            pass
    assert capsys.readouterr().err == ""


def linked(path):
    path.symlink_to(path.parent.parent / "precious")


def folder_with_a_file(path):
    path.mkdir()
    (path / "file").touch()


def device(path):
    path.symlink_to("/dev/null")  # only root makes devices


ODD = pytest.mark.parametrize("make", [linked, folder_with_a_file, os.mkfifo, device])


@ODD
def test_what_is_no_lock_of_this_user_s_is_a_sentence(make, tmp_path):
    make(files()[1])
    with pytest.raises(LadderError, match=r"shm/ladder-timing-\d+.lock, a lock of this machine, .* Delete it"):
        locks.timing_lock().__enter__()
    assert not (tmp_path / "precious").exists()


@ODD
@pytest.mark.parametrize(
    ("name", "begin"),
    [(".lock", lambda folder: locks.folder_lock(folder).__enter__()), (runs.LOCK_NAME, runs.remove_stale_locks)],
)
def test_what_is_no_lock_of_a_folder_is_to_be_deleted(make, tmp_path, name, begin):
    folder = tmp_path / "here"
    folder.mkdir()
    make(folder / name)
    assert not runs.may_be_running(folder)
    with pytest.raises(
        LadderError, match=rf"here/{name} can't be written: it isn't a plain file\. Delete it, then run"
    ):
        begin(folder)
    assert not (tmp_path / "precious").exists()


def test_an_empty_folder_gives_way_to_a_lock(tmp_path):
    (tmp_path / "here/.lock").mkdir(parents=True)
    files()[0].mkdir()
    with locks.folder_lock(tmp_path / "here"), locks.timing_lock():
        assert (tmp_path / "here/.lock").is_file()


def test_another_user_s_file_is_a_sentence(monkeypatch):
    with locks.timing_lock():
        pass
    stat = os.fstat
    monkeypatch.setattr(locks.os, "fstat", lambda file: os.stat_result([*stat(file)[:4], 4711, *stat(file)[5:]]))
    with pytest.raises(LadderError, match=r"it isn't a plain file of this user's\. Delete it"):
        locks.timing_lock().__enter__()


def test_one_folder_will_do_and_none_is_a_sentence(folders):
    folders[1].rmdir()
    with locks.timing_lock():
        pass
    files()[0].unlink()
    files("turn")[0].unlink()
    folders[0].rmdir()
    with pytest.raises(LadderError, match=r"The locks of this machine can't be written \(.*\). Make /tmp writable\."):
        locks.timing_lock().__enter__()


def test_what_a_holder_started_keeps_the_machine_when_it_dies(capsys):
    """For example, a process that the compiler of a killed run started continues for a while."""
    with holder("started") as process:
        sleeping = int(process.stdout.readline())
        process.kill()
        process.wait()
        try:
            assert f"process {process.pid} in " in waited(capsys)
        finally:
            os.kill(sleeping, signal.SIGKILL)
        assert entered(locks.timing_lock(), 10)


@pytest.mark.parametrize(
    "begin",
    [
        runs.begin,
        runs.remove_stale_locks,
        lambda: libraries.ensure("gemm", "c_openmp", "dtype=float64,flags=O2"),
        lambda: compiler.ensure("sm_90", "gemm", "cuda_naive", "dtype=float64,block=16"),
    ],
)
def test_a_folder_that_cannot_be_written_is_a_sentence(monkeypatch, tmp_path, begin):
    for name in (".snakemake", "results"):
        (tmp_path / name).touch()
    monkeypatch.chdir(tmp_path)
    with pytest.raises(LadderError, match=r"can't be written: .* Allow writing, or work in a copy of the project"):
        begin()
