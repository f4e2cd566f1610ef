"""Reading the patterns of a training: every number, by any number of tasks, and files that can't be read."""

import shutil

import numpy as np
import pytest

import emulator
from ladder.catalogue import datasets, workloads
from ladder.data import dataset
from ladder.errors import LadderError
from ladder.harness import validation
from ladder.harness.steps import Steps
from ladder.harness.worker import make_problem
from ladder.records.case import Case
from ladder.workloads import pattern_input

pytestmark = [
    pytest.mark.xdist_group("pattern_input"),  # its functions are compiled once
    pytest.mark.skipif(not shutil.which("gcc"), reason="requires gcc"),
]
VARIANT_TUNINGS = [("serial", {}), *(("openmp_tasks", {"threads": 2, "block": block}) for block in (1, 17, 65536))]


@pytest.fixture(scope="module")
def digits(digits_folder):
    return datasets.load(pattern_input, digits_folder)


def problem_of(images, dtype="float32", variant="serial", tuning=None):
    sizes = workloads.complete("pattern_input", {"images": images, "dtype": dtype, "source": "digits"})
    return make_problem(pattern_input, Case("pattern_input", variant, sizes, tuning or {}), emulator.guarded_host())


def failure_count(problem, run, data):
    """Run both rounds of a problem by `run`; returns the number of checks that fail."""
    checks = []
    for round in range(pattern_input.rounds(problem.sizes)):
        pattern_input.fill(problem.inputs, problem.sizes, round, data)
        validation.poison(problem.outputs)
        run()
        arguments = problem.inputs, problem.outputs, round, data, None, problem.sizes["dtype"]
        checks += pattern_input.check(problem.sizes, *arguments)[0]
    return sum(not check.passed for check in checks)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("images", [1, 17, 65, 1437])
@pytest.mark.parametrize(("variant", "tuning"), VARIANT_TUNINGS)
def test_every_number_is_that_of_its_pixel(digits, variant, tuning, images, dtype):
    problem = problem_of(images, dtype, variant, tuning)
    pattern_input.fill(problem.inputs, problem.sizes, 0, digits)
    steps = Steps.of(workloads.load_variant("pattern_input", variant).setup(problem, **tuning))
    assert [phase for phase, _ in steps.run] == ["reading"]
    assert failure_count(problem, steps.timed(), digits) == 0
    assert emulator.are_intact(problem.device.guards)


def test_every_chunk_is_checked(digits, monkeypatch):
    monkeypatch.setattr(pattern_input, "CHUNK", 17)
    problem = problem_of(65)

    def run(wrong_rows=()):
        first = problem.first[0]
        problem.out[...] = digits.images[first : first + 65].reshape(65, -1) / np.float32(255)
        for row in wrong_rows:
            problem.out[row] += np.float32(1e-7)

    assert failure_count(problem, run, digits) == 0
    for row in (0, 16, 17, 50, 64):
        assert failure_count(problem, lambda row=row: run([row]), digits) == 2


@pytest.mark.parametrize(
    ("fault", "failing_rounds"),  # of two rounds; the first one reads the first images
    [(None, 0), ("always the first images", 1), ("last image skipped", 2), ("reciprocal", 2)],
)
def test_a_fault_is_detected(digits, fault, failing_rounds):
    problem = problem_of(65)

    def run():
        first = 0 if fault == "always the first images" else problem.first[0]
        rows = digits.images[first : first + 65].reshape(65, -1).astype(np.float32)
        problem.out[...] = rows * np.float32(1 / 255) if fault == "reciprocal" else rows / np.float32(255)
        if fault == "last image skipped":
            problem.out[-1] = np.nan

    assert failure_count(problem, run, digits) == failing_rounds


@pytest.mark.parametrize("fault", ["truncated", "missing"])
@pytest.mark.parametrize(("variant", "tuning"), VARIANT_TUNINGS[:2])
def test_a_file_that_cannot_be_read_raises_a_sentence(digits_folder, tmp_path, variant, tuning, fault):
    shutil.copytree(digits_folder, tmp_path, dirs_exist_ok=True)
    problem = problem_of(1437, variant=variant, tuning=tuning)
    pattern_input.fill(problem.inputs, problem.sizes, 0, datasets.load(pattern_input, tmp_path))
    run = Steps.of(workloads.load_variant("pattern_input", variant).setup(problem, **tuning)).timed()
    path = tmp_path / dataset.TRAIN_IMAGES
    path.write_bytes(path.read_bytes()[:-1]) if fault == "truncated" else path.unlink()
    with pytest.raises(LadderError, match="train-images-idx3-ubyte can't be read, or has fewer images"):
        run()


def test_invalid_sizes_and_paths_are_refused(tmp_path):
    with pytest.raises(LadderError, match="images=1438 of pattern_input is more than digits has"):
        problem_of(1438)
    with pytest.raises(LadderError, match="is longer than the 4095 bytes"):
        pattern_input.load_data(tmp_path / "/".join(["a" * 200] * 21))
