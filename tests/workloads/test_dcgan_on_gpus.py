"""Pictures of `home`, copied to the host, from several simulated GPUs whose streams work as late as possible."""

import os
import subprocess
import sys

import pytest

from conftest import TESTS


def run_program(*arguments):
    """The finished process of `dcgan_on_gpus.py` on four GPUs."""
    paths = [str(TESTS / "fake_cupy"), *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, paths)), "CUDA_VISIBLE_DEVICES": "0,1,2,3"}
    command = [sys.executable, TESTS / "dcgan_on_gpus.py", *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)


@pytest.mark.slow
def test_every_gpu_copies_its_pictures_after_they_are_drawn(fake_gpus):
    """With fewer and more GPUs than images, all kinds of memory, copies hidden or not, streams and graphs."""
    fake_gpus(4)
    process = run_program()
    # 8 sizes, 4 numbers of GPUs, 11 tunings.
    assert process.stdout == "352 runs were right\n", process.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("GPU skipped", "elements of the result 'pictures' are NaN"),
        ("reverse order", "the error of 'pictures'"),
        ("no waiting", "elements of the result 'pictures' are NaN"),
    ],
)
def test_faults_of_gpus_are_detected(fake_gpus, fault, words):
    fake_gpus(4)
    process = run_program("--fault", fault)
    assert process.returncode
    assert words in process.stderr.split("ladder.errors.LadderError: ")[1]
    assert not process.stdout
