"""Locks for timing: one job per machine, or per GPU, whatever the environment; a waiting process reports the holder."""

import contextlib
import fcntl
import json
import os
import signal
import stat
import subprocess
import sys
import threading
import time

import pytest

from conftest import ROOT
from ladder.build import compiler, libraries
from ladder.errors import LadderError
from ladder.records import holders, locks, runs

HOLDER_CODE = """
import sys, time
from pathlib import Path
from ladder.machine import processes
from ladder.records import locks
locks.FOLDERS = tuple(map(Path, sys.argv[2:]))
with locks.timing_lock(shared=sys.argv[1] == "shared"):
    print("holds", flush=True)
    if sys.argv[1] == "parent":
        processes.run(["sh", "-c", "sleep 60 & echo $!; wait"])
    time.sleep(60)
"""


# The threads of a test that wait or have waited for a lock.
waiting_threads = []


@pytest.fixture(autouse=True)
def folders(tmp_path, monkeypatch):
    """The two folders of a machine's locks, private to a test."""
    folders = tmp_path / "tmp", tmp_path / "shm"
    for folder in folders:
        folder.mkdir()
    monkeypatch.setattr(locks, "FOLDERS", folders)
    yield folders
    while waiting_threads:  # a thread that still waits would open the folders of the next test
        waiting_threads.pop().join(10)


def lock_files(name="timing"):
    """The files of a lock of the machine, by default of its lock for timing, one per folder."""
    return [folder / f"ladder-{name}-{os.getuid()}.lock" for folder in locks.FOLDERS]


def can_enter(context, seconds=0.2):
    """Whether a thread can enter a context within some seconds; it leaves the context immediately."""
    has_entered = threading.Event()

    def enter():
        with context:
            has_entered.set()

    thread = threading.Thread(target=enter, daemon=True)
    thread.start()
    waiting_threads.append(thread)
    return has_entered.wait(seconds)


@contextlib.contextmanager
def holder(kind="alone", **variables):
    """Another process that holds the machine for timing; `kind` is "alone", "shared", or "parent", with a child."""
    environment = {"PYTHONPATH": str(ROOT / "src"), "PATH": os.environ["PATH"], **variables}
    line = [sys.executable, "-c", HOLDER_CODE, kind, *map(str, locks.FOLDERS)]
    with subprocess.Popen(line, env=environment, cwd=locks.FOLDERS[0], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout.readline() == "holds\n"
            yield process
        finally:
            process.kill()


def test_the_machine_is_held_by_one_or_shared():
    with locks.timing_lock():
        assert not can_enter(locks.timing_lock())
    with locks.timing_lock(shared=True):
        assert can_enter(locks.timing_lock(shared=True), 10)
        assert not can_enter(locks.timing_lock())


def test_a_lock_that_is_free_in_only_one_folder_is_waited_for():
    """A holder that releases a lock has it in only one folder for a moment: who tries then must not block itself."""
    with locks.open_private(lock_files()[1]) as second_file:
        fcntl.flock(second_file, fcntl.LOCK_EX)
        threading.Timer(0.2, lambda: fcntl.flock(second_file, fcntl.LOCK_UN)).start()
        assert can_enter(locks.timing_lock(shared=True), 10)


def test_each_job_holds_another_gpu_and_the_next_job_waits():
    with locks.first_free_lock(["a", "b"]) as first:
        with locks.first_free_lock(["a", "b"]) as second:
            assert (first, second) == ("a", "b")
            assert not can_enter(locks.first_free_lock(["a", "b"]))
        time.sleep(0.2)  # the thread that waited has left
        with locks.first_free_lock(["a", "b"]) as third:
            assert third == "b"


def test_no_variable_moves_the_locks_of_a_machine(folders):
    """A login shell and a cron job have different variables."""
    elsewhere = dict.fromkeys(("XDG_RUNTIME_DIR", "TMPDIR", "TEMP", "HOME"), str(folders[0].parent))
    with holder(**elsewhere):
        assert not can_enter(locks.timing_lock())


def test_outside_of_tests_the_folders_are_those_of_the_machine():
    """LADDER_TESTS_LOCKS moves them only where tests/private_locks is on PYTHONPATH."""
    line = [sys.executable, "-c", "from ladder.records import locks; print(*locks.FOLDERS)"]
    environment = {"PYTHONPATH": str(ROOT / "src"), "LADDER_TESTS_LOCKS": "/nowhere", "TMPDIR": "/nowhere"}
    printed = subprocess.run(line, env=environment, capture_output=True, text=True, check=True).stdout
    assert printed == "/tmp /dev/shm\n"


@pytest.mark.parametrize("index", [0, 1])
def test_one_common_folder_is_enough(folders, monkeypatch, index, tmp_path):
    """A service may have a private /tmp; a cleaner may delete locked files in /tmp."""
    with holder():
        changed_folders = list(folders)
        changed_folders[index] = tmp_path / "changed_folders"
        changed_folders[index].mkdir()
        monkeypatch.setattr(locks, "FOLDERS", tuple(changed_folders))
        assert not can_enter(locks.timing_lock())


def test_a_process_that_waits_for_a_deleted_file_locks_the_new_one():
    """Otherwise it would hold a lock that no later process sees."""
    with locks.timing_lock():
        thread = threading.Thread(target=lambda: can_enter(locks.timing_lock(), 5), daemon=True)
        thread.start()
        time.sleep(0.1)
        for path in lock_files():
            path.unlink()
    thread.join()
    assert all(path.exists() for path in lock_files())
    with locks.timing_lock():
        assert not can_enter(locks.timing_lock())


def test_shared_holders_do_not_starve_a_process_that_needs_the_machine_alone():
    with locks.timing_lock(shared=True):
        alone = threading.Thread(target=can_enter, args=(locks.timing_lock(), 5), daemon=True)
        alone.start()
        time.sleep(0.1)
        assert not can_enter(locks.timing_lock(shared=True))
    alone.join(5)
    assert not alone.is_alive()


def waiting_message(capsys, context=None):
    """The message, printed once on standard error, of a thread that waits for a lock, by default the machine's."""
    threading.Thread(target=can_enter, args=(context or locks.timing_lock(),), daemon=True).start()
    deadline, message = time.monotonic() + 10, ""
    while not message.endswith("\n") and time.monotonic() < deadline:
        time.sleep(0.02)
        message += capsys.readouterr().err
    assert message.count("\n") == 1
    return message.strip()


def test_a_waiting_process_reports_the_holder_and_the_time(capsys, folders):
    with holder() as process:
        message = waiting_message(capsys)
    since = message[-9:-1]
    assert time.strptime(since, "%H:%M:%S")
    process_description = f"`-c alone {folders[0]} {folders[1]}`, process {process.pid} in {folders[0]}"
    assert message == f"ladder: waits for {process_description}, which has held the machine for timing since {since}."


def test_a_waiting_process_reports_several_holders(capsys):
    with holder("shared") as first, holder("shared"):
        message = waiting_message(capsys)
    assert f"process {first.pid} in " in message
    assert " and 1 more, which have held " in message


@pytest.mark.parametrize("index", [0, 1])
def test_a_holder_with_another_tmp_is_reported_and_no_earlier_one(capsys, folders, monkeypatch, index, tmp_path):
    """One of this process's folders has only the signature of an earlier, killed holder, whose file isn't locked."""
    with holder() as earlier:
        pass
    earlier.wait()
    other_folders = list(folders)
    other_folders[index] = tmp_path / "private"
    other_folders[index].mkdir()
    with monkeypatch.context() as patch:
        patch.setattr(locks, "FOLDERS", tuple(other_folders))
        context = holder()
        process = context.__enter__()
    message = waiting_message(capsys)
    context.__exit__(None, None, None)
    assert f"process {process.pid} in " in message
    assert f"process {earlier.pid} " not in message


@pytest.mark.parametrize(
    "take_lock",
    # A GPU's lock has the GPU's name; here it is called `timing` to share its files with the lock for timing.
    [locks.timing_lock, lambda: locks.timing_lock(shared=True), lambda: locks.first_free_lock(["timing"])],
    ids=["alone", "shared", "gpu"],
)
def test_a_holder_that_has_released_its_lock_is_no_longer_reported(capsys, take_lock):
    """Though the process is alive, and the next holder hasn't signed yet."""
    with take_lock():
        assert all(path.read_bytes() for path in lock_files())
    files = locks.open_machine_lock("timing")
    for file in files:
        fcntl.flock(file, fcntl.LOCK_EX)
    assert waiting_message(capsys) == "ladder: waits for another process, which holds the machine for timing."
    locks.release(files)


def test_a_shared_holder_is_still_reported_after_another_has_left(capsys):
    with holder("shared") as remaining:
        with locks.timing_lock(shared=True):
            pass
        assert f"process {remaining.pid} in " in waiting_message(capsys)


@pytest.mark.parametrize("text", ["", "{", '{"process": 1}\n', "[]\n5\n", "\x00\xff", '{"process": "\ud800"}'])
def test_a_holder_with_an_invalid_signature_is_waited_for(capsys, text):
    with locks.timing_lock():
        for path in lock_files():
            path.write_bytes(text.encode(errors="surrogatepass"))
        assert waiting_message(capsys) == "ladder: waits for another process, which holds the machine for timing."


def test_a_holder_is_reported_in_one_printable_line(capsys):
    signature = holders.signature() | {"does": "a\nb\x1b[1m", "since": 1e300, "process": 10**30}
    with locks.timing_lock():
        for path in lock_files():
            path.write_text(json.dumps(signature))
        assert waiting_message(capsys).startswith("ladder: waits for `a?b?[1m`, process 1")


def test_waiting_for_a_gpu_or_a_folder_is_reported(capsys, tmp_path):
    with locks.first_free_lock(["GPU-1"]):
        assert f"process {os.getpid()} in " in (message := waiting_message(capsys, locks.first_free_lock(["GPU-1"])))
        assert ", which has held GPU-1 since " in message
    with locks.folder_lock(tmp_path / "build"):
        message = waiting_message(capsys, locks.folder_lock(tmp_path / "build"))
    assert f", which has held {tmp_path / 'build'} for compiling since " in message


def test_nothing_is_printed_if_nobody_waits(capsys):
    for shared in (False, True):
        with locks.timing_lock(shared=shared), locks.first_free_lock(["a"]):
            pass
    assert capsys.readouterr().err == ""


def make_link(path):
    path.symlink_to(path.parent.parent / "precious")


def make_nonempty_folder(path):
    path.mkdir()
    (path / "file").touch()


def make_device(path):
    path.symlink_to("/dev/null")  # only root makes devices


ODD_FILES = pytest.mark.parametrize("make", [make_link, make_nonempty_folder, os.mkfifo, make_device])


@ODD_FILES
def test_a_lock_of_the_machine_that_is_not_a_plain_file_is_refused(make, tmp_path):
    make(lock_files()[1])
    with pytest.raises(LadderError, match=r"shm/ladder-timing-\d+.lock, a lock of this machine, .* Delete it"):
        locks.timing_lock().__enter__()
    assert not (tmp_path / "precious").exists()


@ODD_FILES
@pytest.mark.parametrize(
    ("name", "take_lock"),
    [(".lock", lambda folder: locks.folder_lock(folder).__enter__()), (runs.LOCK_NAME, runs.remove_stale_locks)],
)
def test_a_lock_of_a_folder_that_is_not_a_plain_file_is_refused(make, tmp_path, name, take_lock):
    folder = tmp_path / "here"
    folder.mkdir()
    make(folder / name)
    assert not runs.may_be_running(folder)
    with pytest.raises(
        LadderError, match=rf"here/{name} can't be written: it isn't a plain file\. Delete it, then run"
    ):
        take_lock(folder)
    assert not (tmp_path / "precious").exists()


def test_an_empty_folder_is_replaced_by_a_lock(tmp_path):
    (tmp_path / "here/.lock").mkdir(parents=True)
    lock_files()[0].mkdir()
    with locks.folder_lock(tmp_path / "here"), locks.timing_lock():
        assert (tmp_path / "here/.lock").is_file()


def test_a_lock_of_another_user_is_refused(monkeypatch):
    with locks.timing_lock():
        pass
    fstat = os.fstat

    def fstat_of_another_user(file):
        status = list(fstat(file))
        status[stat.ST_UID] += 1
        return os.stat_result(status)

    monkeypatch.setattr(locks.os, "fstat", fstat_of_another_user)
    with pytest.raises(LadderError, match=r"it isn't a plain file of this user's\. Delete it"):
        locks.timing_lock().__enter__()


def test_one_folder_suffices_and_none_is_refused(folders):
    folders[1].rmdir()
    with locks.timing_lock():
        pass
    lock_files()[0].unlink()
    lock_files("turn")[0].unlink()  # the lock on which later processes queue
    folders[0].rmdir()
    with pytest.raises(LadderError, match=r"The locks of this machine can't be written \(.*\). Make /tmp writable\."):
        locks.timing_lock().__enter__()


def test_a_child_keeps_the_lock_of_a_holder_that_dies(capsys):
    """For example, a child of a killed run's compiler continues for a while."""
    with holder("parent") as process:
        child_id = int(process.stdout.readline())
        process.kill()
        process.wait()
        try:
            assert f"process {process.pid} in " in waiting_message(capsys)
        finally:
            os.kill(child_id, signal.SIGKILL)
        assert can_enter(locks.timing_lock(), 10)


@pytest.mark.parametrize(
    "take_lock",
    [
        runs.begin,
        runs.remove_stale_locks,
        lambda: libraries.ensure("gemm", "c_openmp", "dtype=float64,flags=O2"),
        lambda: compiler.ensure("sm_90", "gemm", "cuda_naive", "dtype=float64,block=16"),
    ],
)
def test_a_folder_that_cannot_be_written_is_refused(monkeypatch, tmp_path, take_lock):
    for name in (".snakemake", "results"):
        (tmp_path / name).touch()
    monkeypatch.chdir(tmp_path)
    with pytest.raises(LadderError, match=r"can't be written: .* Allow writing, or work in a copy of the project"):
        take_lock()
