"""The lock that allows one run per folder: Snakemake's locks of a killed run are removed, those of a live one stay."""

import contextlib
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from conftest import ROOT
from ladder.errors import LadderError
from ladder.records import holders, mounts, runs

RUN_CODE = """
import sys, time
from ladder.records import runs
runs.begin(sys.argv[1])
print("began", flush=True)
time.sleep(60)
"""
# A line of /proc/self/mountinfo, with gaps for the type of the file system and for further options.
MOUNT_LINE = "36 35 0:31 / / rw,relatime - {} server:/home rw,vers=4.2{}\n"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Snakemake's folder with a lock in it, on the file system that a test sets by `set_mount`."""
    (tmp_path / "locks").mkdir()
    snakemake_lock(tmp_path).touch()
    monkeypatch.setattr(runs, "held_files", [])
    monkeypatch.setattr(runs, "LOCK_TIMEOUT", 0.2)
    monkeypatch.setattr(mounts, "MOUNTS", tmp_path / "mounts")
    return tmp_path


def snakemake_lock(folder):
    return folder / "locks/0.input.lock"


def sign_last_run(folder, **signature):
    """Write a signature of the folder's last run, this process's with the given fields."""
    (folder / runs.LOCK_NAME).write_text(json.dumps(holders.signature() | signature) + "\n")


def set_mount(file_system, options=""):
    mounts.MOUNTS.write_text(MOUNT_LINE.format(file_system, options), encoding="utf-8")


@pytest.mark.parametrize("damaged", [b"", b"{", b"[]", b'{"rule": "\xff"}', b"\0\0", b'{"rule": 1}'])
def test_damaged_metadata_is_removed_unless_a_run_is_alive(folder, damaged):
    from snakemake.persistence import MetadataRecord

    # Snakemake splits a long name over folders, which begin with @.
    paths = [folder / "metadata" / name for name in ("sound", "@long/damaged")]
    for path, text in zip(paths, (b'{"rule": "plan", "starttime": 1.5}', damaged), strict=True):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text)
    snakemake_lock(folder).unlink()
    runs.begin(folder)
    runs.remove_invalid_metadata(MetadataRecord.model_validate, folder)
    assert all(path.exists() for path in paths)
    runs.held_files.pop().close()
    runs.remove_invalid_metadata(MetadataRecord.model_validate, folder)
    assert [path.exists() for path in paths] == [True, False]


def test_a_stale_lock_that_is_a_folder_is_reported(folder):
    sign_last_run(folder)
    snakemake_lock(folder).unlink()
    snakemake_lock(folder).mkdir()
    with pytest.raises(LadderError, match=r"0.input.lock, a stale lock, can't be deleted: .*\. Delete it"):
        runs.remove_stale_locks(folder)


def test_locks_of_a_killed_run_are_removed_whatever_the_host_name(folder):
    sign_last_run(folder, host="a container that is gone")
    assert not runs.may_be_running(folder)
    runs.remove_stale_locks(folder)
    assert not snakemake_lock(folder).exists()
    snakemake_lock(folder).touch()
    runs.begin(folder)
    assert not snakemake_lock(folder).exists()
    assert runs.may_be_running(folder)
    assert json.loads((folder / runs.LOCK_NAME).read_text())["host"] == os.uname().nodename


@pytest.mark.parametrize(
    ("file_system", "options", "is_removed"),
    [
        ("ext4", "", True),  # this machine was restarted
        ("overlay", "", True),
        ("nfs4", ",local_lock=none", True),
        ("nfs", ",local_lock=flock", False),
        ("nfs", ",nolock", False),
        ("lustre", ",flock", True),
        ("lustre", ",localflock", False),
        ("fuse.sshfs", "", False),
        ("9p", "", False),
    ],
)
# None: a sound signature; the other texts are truncated, or were written by an earlier version.
@pytest.mark.parametrize("lock_text", [None, "", "another\n", "{"])
def test_a_run_of_another_boot_counts_as_ended_if_the_file_system_shows_locks(
    folder, file_system, options, is_removed, lock_text
):
    set_mount(file_system, options)
    sign_last_run(folder, boot="another", host=os.uname().nodename)
    if lock_text is not None:
        (folder / runs.LOCK_NAME).write_text(lock_text)
    assert runs.may_be_running(folder) is not is_removed
    if is_removed:
        runs.begin(folder)
    else:
        with pytest.raises(LadderError, match=r"may still be at work: .* by `snakemake --unlock`"):
            runs.begin(folder)
        runs.remove_stale_locks(folder)
    assert snakemake_lock(folder).exists() is not is_removed
    if not is_removed:
        snakemake_lock(folder).unlink()
        runs.begin(folder)


def test_without_boot_ids_host_names_are_compared(folder, monkeypatch):
    monkeypatch.setattr(holders, "BOOT_ID_FILE", folder / "nowhere")
    sign_last_run(folder, host="another")
    assert runs.may_be_running(folder)
    sign_last_run(folder)
    assert not runs.may_be_running(folder)


def test_a_live_run_is_reported_and_its_death_frees_the_folder(folder):
    line = [sys.executable, "-c", RUN_CODE, str(folder)]
    with subprocess.Popen(line, env={"PYTHONPATH": str(ROOT / "src")}, stdout=subprocess.PIPE, text=True) as run:
        try:
            assert run.stdout.readline() == "began\n"
            snakemake_lock(folder).touch()
            runs.remove_stale_locks(folder)
            assert snakemake_lock(folder).exists()
            assert runs.may_be_running(folder)
            with pytest.raises(LadderError, match=rf"Another run is at work .* process {run.pid} in .* on .*, since "):
                runs.begin(folder)
        finally:
            run.kill()
    assert not runs.may_be_running(folder)
    runs.begin(folder)
    assert not snakemake_lock(folder).exists()


def test_a_run_waits_for_a_process_that_tests_the_lock(folder):
    """Otherwise it would continue without a lock, and the next run would take it for dead."""
    with Path(folder, runs.LOCK_NAME).open("w", encoding="utf-8") as file:
        runs.fcntl.flock(file, runs.fcntl.LOCK_SH)
        line = [sys.executable, "-c", RUN_CODE, str(folder)]
        with subprocess.Popen(line, env={"PYTHONPATH": str(ROOT / "src")}, stdout=subprocess.PIPE, text=True) as run:
            try:
                time.sleep(0.5)
                file.close()
                assert run.stdout.readline() == "began\n"
            finally:
                run.kill()


def test_the_mount_of_a_path_is_the_last_one_on_its_closest_mount_point(tmp_path, monkeypatch):
    """`\\040` is a blank; the mount point `/tm` only begins like `/tmp`."""
    monkeypatch.setattr(mounts, "MOUNTS", tmp_path / "mounts")
    lines = [
        "1 0 8:1 / / rw - ext4 /dev/sda rw",
        f"2 1 0:9 / {tmp_path}/my\\040home rw - nfs4 server:/home rw,local_lock=none",
        f"3 1 0:8 / {tmp_path}/my\\040home rw,noexec - fuse.sshfs server: rw",
        "4 1 0:7 / /tm rw - 9p other rw",
    ]
    mounts.MOUNTS.write_text("\n".join(lines), encoding="utf-8")
    assert mounts.mount_of(tmp_path / "my home/project") == ("fuse.sshfs", {"rw", "noexec"})
    assert mounts.mount_of(tmp_path)[0] == "ext4"
    mounts.MOUNTS.unlink()
    assert mounts.mount_of(tmp_path) == ("", set())


def test_a_lock_that_vanishes_while_snakemake_reads_it_is_no_error(tmp_path):
    """A dry run may remove its lock after Snakemake has listed it and before Snakemake reads it."""
    events = []

    @contextlib.contextmanager
    def make_lock():
        events.append("entered")
        if len(events) == 1:
            (tmp_path / "0.input.lock").open()
        yield
        events.append("left")

    with runs.hold_snakemake_lock(make_lock):
        assert events == ["entered", "entered"]
    assert events == ["entered", "entered", "left"]


def test_an_error_while_the_lock_is_held_is_raised(tmp_path):
    with pytest.raises(FileNotFoundError), runs.hold_snakemake_lock(contextlib.nullcontext):
        (tmp_path / "missing").open()
