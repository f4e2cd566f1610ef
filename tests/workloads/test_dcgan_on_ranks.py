"""Pictures on ranks: in the first rank's memory, or by MPI from another node; and the memory that ranks share."""

import os
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from conftest import TESTS
from ladder import cuda, devices
from ladder.catalogue import workloads
from ladder.devices import mpi_cuda
from ladder.errors import LadderError
from ladder.machine import nvidia, programs
from ladder.planning import plan
from ladder.planning.targets import Target
from ladder.records.case import Case

MPI, MPI_CUDA = devices.load("mpi"), devices.load("mpi_cuda")
LAUNCHER = programs.launcher("auto")
needs_mpi = pytest.mark.skipif(
    not LAUNCHER or not plan.is_installed("mpi4py"), reason="requires MPI: mpi4py and a launcher"
)
ALL = 32  # runs


def case_of(ranks, **tuning):
    return Case("dcgan", "mpi_home", workloads.complete("dcgan", {"images": 5}), {"ranks": ranks, **tuning})


def runs(ranks, *arguments):
    """What `dcgan_on_ranks.py` says on so many ranks; an error on one of them ends all."""
    words = [sys.executable, "-m", "mpi4py", TESTS / "dcgan_on_ranks.py", *map(str, arguments)]
    line = [*MPI.command(case_of(ranks), LAUNCHER), *words]
    # mpi4py replaces the first entry of sys.path, which is the working folder only without PYTHONSAFEPATH.
    variables = MPI.environment(1) | os.environ | {"PYTHONSAFEPATH": ""}
    return subprocess.run(line, env=variables, capture_output=True, text=True, timeout=300)


@pytest.fixture
def late_cards(cards, monkeypatch):
    """Four cards that aren't there, and what takes CuPy's place on them."""
    cards(4)
    monkeypatch.setenv("PYTHONPATH", str(TESTS / "fake_cupy"), prepend=os.pathsep)


@needs_mpi
@pytest.mark.parametrize(
    ("ranks", "away"),
    [
        pytest.param(1, None, marks=pytest.mark.slow),
        pytest.param(3, None, marks=pytest.mark.slow),
        pytest.param(2, 1, marks=pytest.mark.slow),
        pytest.param(3, 1, marks=pytest.mark.slow),
        pytest.param(4, 2, marks=pytest.mark.slow),
    ],
)
def test_every_rank_brings_its_pictures_home_once_they_are_there(late_cards, ranks, away):
    done = runs(ranks, "--drawn", *(["--away", away] if away else []))
    assert done.stdout.splitlines()[-1:] == [f"{ALL} runs were right on {ranks} ranks"], done.stderr


@needs_mpi
@pytest.mark.parametrize(
    ("fault", "words"),
    [
        pytest.param("share left out", "elements of the result 'pictures' are NaN", marks=pytest.mark.slow),
        ("other order", "pictures"),
        pytest.param("no waiting", "elements of the result 'pictures' are NaN", marks=pytest.mark.slow),
    ],
)
def test_ranks_that_work_wrong_are_noticed(late_cards, fault, words):
    done = runs(3, "--drawn", "--fault", fault)
    assert done.returncode
    assert words in done.stderr.split("ladder.errors.LadderError: ")[1]
    assert "were right" not in done.stdout


@needs_mpi
@pytest.mark.gpu
@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_pictures_on_cards_are_right(ranks):
    if ranks > len(nvidia.gpus()):
        pytest.skip(f"requires {ranks} NVIDIA GPUs")
    done = runs(ranks)
    assert done.stdout.splitlines()[-1:] == [f"{ALL} runs were right on {ranks} ranks"], done.stderr


# The memory that ranks share


@pytest.fixture
def locked(monkeypatch):
    """Arrays whose pages are locked, in place of a card."""
    found = []
    monkeypatch.setattr(cuda, "lock_pages", lambda array: found.append(array.nbytes))
    return found


def second(monkeypatch, array, node=(0, 1), **wrong):
    """Have this process be the second rank, which the first, of the ranks of `node` beside it, tells of its array."""
    file = array.base.file
    told = {"process": os.getpid(), "file": file, "status": os.fstat(file)} | wrong
    world = SimpleNamespace(rank=1, bcast=lambda _: (*told.values(), array.shape, array.dtype))
    monkeypatch.setattr(mpi_cuda, "communicator", lambda: world)
    monkeypatch.setattr(MPI_CUDA, "is_first", lambda: False)
    monkeypatch.setattr(mpi_cuda, "neighbours", lambda: SimpleNamespace(allgather=lambda _: list(node)))


def test_a_rank_of_the_node_works_in_the_first_ones_array(monkeypatch, locked):
    array = MPI_CUDA.empty((3, 5), "float32")
    second(monkeypatch, array)
    other = MPI_CUDA.shared(None)
    assert locked == [60, 60]
    assert (other.shape, other.dtype) == ((3, 5), np.float32)
    other[...] = np.arange(15).reshape(3, 5)
    np.testing.assert_array_equal(array, other)
    array[2] = 7
    assert other[2].tolist() == [7] * 5


def test_a_rank_of_another_node_has_no_part_in_it(monkeypatch, locked):
    second(monkeypatch, MPI_CUDA.empty((3, 5), "float32"), node=(1, 2))
    assert MPI_CUDA.shared(None) is None


def test_memory_that_is_out_of_reach_is_a_sentence(monkeypatch, locked):
    array, other = MPI_CUDA.empty((3, 5), "float32"), MPI_CUDA.empty((3, 5), "float32")
    for wrong in ({"process": 2**22 + 1}, {"file": 10**6}, {"file": other.base.file}):
        second(monkeypatch, array, **wrong)
        with pytest.raises(LadderError, match=r"Rank 1 can't map the memory of the first rank, .* one container"):
            MPI_CUDA.shared(None)


def test_a_file_is_open_as_long_as_a_view_of_its_array(locked):
    array = MPI_CUDA.empty((3, 5), "float32")
    file, view = array.base.file, array[1:]
    del array
    view[...] = 1
    os.fstat(file)
    del view
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(file)


def test_an_array_without_elements_has_no_pages_to_lock(locked):
    assert MPI_CUDA.empty((0, 7), "float64").shape == (0, 7)
    assert locked == []


def test_cases_need_a_card_for_every_rank():
    assert workloads.gpus(case_of(2)) == 2
    assert str(plan.skip_reason(case_of(2), True, Target("here", 4, 1, "mpiexec"))) == "needs 2 GPUs, 1 available"
    assert str(plan.skip_reason(case_of(2), True, Target("here", 4, 2))) == "needs an MPI launcher, none available"
    assert "split from 0 to 4" in str(plan.skip_reason(case_of(1, split=5), True, Target("here", 4, 2)))
