"""Places for timing: one job a machine, or one a card."""

import threading
import time

import pytest

from ladder.build import compiler, libraries
from ladder.errors import LadderError
from ladder.records import locks


@pytest.fixture(autouse=True)
def own_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))


def entered(context, seconds=0.3):
    """Whether a context can be entered while others hold what they hold; it is left at once."""
    there = threading.Event()

    def enter():
        with context:
            there.set()

    thread = threading.Thread(target=enter, daemon=True)
    thread.start()
    return there.wait(seconds)


def test_a_machine_is_held_by_one_or_shared_by_cards():
    with locks.quiet_machine():
        assert not entered(locks.quiet_machine())
    with locks.quiet_machine(shared=True):
        assert entered(locks.quiet_machine(shared=True))
        assert not entered(locks.quiet_machine())


def test_each_job_holds_a_card_of_its_own_and_the_next_waits_for_one():
    with locks.first_free(["a", "b"]) as first:
        with locks.first_free(["a", "b"]) as second:
            assert (first, second) == ("a", "b")
            assert not entered(locks.first_free(["a", "b"]))
        time.sleep(0.2)  # the one that waited has had its turn
        with locks.first_free(["a", "b"]) as third:
            assert third == "b"


def test_a_folder_that_is_only_on_the_machine_that_submitted_holds_no_locks(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "elsewhere"))
    with locks.quiet_machine():
        pass


def test_what_a_killed_run_left_goes_and_what_another_machines_run_holds_stays(monkeypatch, tmp_path):
    monkeypatch.setattr(locks, "held", [])
    lock, owner = tmp_path / "locks/0.input.lock", tmp_path / "ladder.lock"
    lock.parent.mkdir()

    def begun():
        lock.touch()
        locks.clear_stale(tmp_path)
        locks.held.clear()  # as when the run ends
        return lock.exists()

    assert not begun()
    assert not begun()
    assert owner.read_text() == locks.platform.node()
    owner.write_text("another")
    assert begun()
    assert begun()
    lock.unlink()
    locks.clear_stale(tmp_path)
    assert owner.read_text() == locks.platform.node()


@pytest.mark.parametrize(
    "begin",
    [
        locks.clear_stale,
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
