"""Pictures on ranks, copied to the first rank's memory or sent by MPI from another node; memory that ranks share."""

import os
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from conftest import TESTS
from ladder import cuda, devices
from ladder.catalogue import traits, workloads
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
RUNS = 40  # of `dcgan_on_ranks.py`: 8 sizes x 5 tunings


def case_of(ranks, **tuning):
    return Case("dcgan", "mpi_home", workloads.complete("dcgan", {"images": 5}), {"ranks": ranks, **tuning})


def run_program(ranks, *arguments):
    """The finished process of `dcgan_on_ranks.py`; an error on one rank ends all ranks.

    With `--lookup`, pictures are looked up in the reference instead of drawn, so that no GPU is needed.
    """
    program = [sys.executable, "-m", "mpi4py", TESTS / "dcgan_on_ranks.py", *map(str, arguments)]
    command = [*MPI.command(case_of(ranks), LAUNCHER), *program]
    # mpi4py replaces the first entry of sys.path by the program's folder. With PYTHONSAFEPATH, this entry would be one
    # of PYTHONPATH, such as the folder of the stand-in for CuPy, and not the working folder.
    variables = MPI.environment(1) | os.environ | {"PYTHONSAFEPATH": ""}
    return subprocess.run(command, env=variables, capture_output=True, text=True, timeout=300)


@pytest.fixture
def late_gpus(fake_gpus, monkeypatch):
    """Four simulated GPUs, with a stand-in for CuPy that runs work as late as possible."""
    fake_gpus(4)
    monkeypatch.setenv("PYTHONPATH", str(TESTS / "fake_cupy"), prepend=os.pathsep)


@needs_mpi
@pytest.mark.parametrize(
    ("ranks", "first_remote"),  # the ranks from this one on count as ranks of another node
    [
        pytest.param(1, None, marks=pytest.mark.slow),
        pytest.param(3, None, marks=pytest.mark.slow),
        pytest.param(2, 1, marks=pytest.mark.exhaustive),
        pytest.param(3, 1, marks=pytest.mark.exhaustive),
        pytest.param(4, 2, marks=pytest.mark.slow),
    ],
)
def test_every_rank_copies_its_pictures_after_they_are_drawn(late_gpus, ranks, first_remote):
    process = run_program(ranks, "--lookup", *(["--remote", first_remote] if first_remote else []))
    assert process.stdout.splitlines()[-1:] == [f"{RUNS} runs were right on {ranks} ranks"], process.stderr


@needs_mpi
@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("share skipped", "elements of the result 'pictures' are NaN"),
        ("reverse order", "pictures"),
        ("no waiting", "elements of the result 'pictures' are NaN"),
    ],
)
def test_faults_of_ranks_are_detected(late_gpus, fault, words):
    process = run_program(3, "--lookup", "--fault", fault)
    assert process.returncode
    assert words in process.stderr.split("ladder.errors.LadderError: ")[1]
    assert "were right" not in process.stdout


@needs_mpi
@pytest.mark.gpu
@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_pictures_on_gpus_are_right(ranks):
    if ranks > len(nvidia.gpus()):
        pytest.skip(f"requires {ranks} NVIDIA GPUs")
    process = run_program(ranks)
    assert process.stdout.splitlines()[-1:] == [f"{RUNS} runs were right on {ranks} ranks"], process.stderr


# The memory that ranks share


@pytest.fixture
def locked_arrays(monkeypatch):
    """The sizes in bytes of the arrays whose pages are locked; no GPU is needed."""
    sizes = []
    monkeypatch.setattr(cuda, "lock_pages", lambda array: sizes.append(array.nbytes))
    return sizes


def become_second(monkeypatch, array, node=(0, 1), **wrong):
    """Make this process rank 1, on a node with the ranks `node`; rank 0 broadcasts where its array is.

    `wrong` overrides parts of that message.
    """
    file = array.base.file
    message = {"process": os.getpid(), "file": file, "status": os.fstat(file)} | wrong
    world = SimpleNamespace(rank=1, bcast=lambda _: (*message.values(), array.shape, array.dtype))
    monkeypatch.setattr(mpi_cuda, "communicator", lambda: world)
    monkeypatch.setattr(MPI_CUDA, "is_first", lambda: False)
    monkeypatch.setattr(mpi_cuda, "node_communicator", lambda: SimpleNamespace(allgather=lambda _: list(node)))


def test_a_rank_of_the_same_node_uses_the_first_ranks_array(monkeypatch, locked_arrays):
    array = MPI_CUDA.empty((3, 5), "float32")
    become_second(monkeypatch, array)
    other = MPI_CUDA.map_shared(None)
    assert locked_arrays == [60, 60]  # both ranks lock the pages of 15 numbers of 4 bytes
    assert (other.shape, other.dtype) == ((3, 5), np.float32)
    other[...] = np.arange(15).reshape(3, 5)
    np.testing.assert_array_equal(array, other)
    array[2] = 7
    assert other[2].tolist() == [7] * 5


def test_a_rank_of_another_node_does_not_share_the_array(monkeypatch, locked_arrays):
    become_second(monkeypatch, MPI_CUDA.empty((3, 5), "float32"), node=(1, 2))
    assert MPI_CUDA.map_shared(None) is None


def test_memory_that_cannot_be_mapped_is_an_error(monkeypatch, locked_arrays):
    array, other = MPI_CUDA.empty((3, 5), "float32"), MPI_CUDA.empty((3, 5), "float32")
    # A process number beyond the largest one, a file that isn't open, and the file of another array.
    for wrong in ({"process": 2**22 + 1}, {"file": 10**6}, {"file": other.base.file}):
        become_second(monkeypatch, array, **wrong)
        with pytest.raises(LadderError, match=r"Rank 1 can't map the memory of the first rank, .* one container"):
            MPI_CUDA.map_shared(None)


def test_a_file_is_open_as_long_as_a_view_of_its_array(locked_arrays):
    array = MPI_CUDA.empty((3, 5), "float32")
    file, view = array.base.file, array[1:]
    del array
    view[...] = 1
    os.fstat(file)
    del view
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(file)


def test_an_array_without_elements_has_no_pages_to_lock(locked_arrays):
    assert MPI_CUDA.empty((0, 7), "float64").shape == (0, 7)
    assert locked_arrays == []


def test_cases_need_a_launcher_a_gpu_for_every_rank_and_a_split_of_the_four_layers():
    assert traits.gpus(case_of(2)) == 2
    one_gpu = Target("here", cores=4, gpus=1, launcher="mpiexec")
    no_launcher = Target("here", cores=4, gpus=2)
    assert str(plan.skip_reason(case_of(2), peers=True, target=one_gpu)) == "needs 2 GPUs, 1 available"
    assert str(plan.skip_reason(case_of(2), peers=True, target=no_launcher)) == "needs an MPI launcher, none available"
    assert "split from 0 to 4" in str(plan.skip_reason(case_of(1, split=5), peers=True, target=no_launcher))
