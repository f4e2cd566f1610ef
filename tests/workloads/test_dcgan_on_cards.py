"""Pictures home from several cards that aren't there, whose streams work as late as they may."""

import os
import subprocess
import sys

import pytest

from conftest import TESTS


def drawn(*arguments):
    """What `dcgan_on_cards.py` says on four cards."""
    paths = [str(TESTS / "fake_cupy"), *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
    seen = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, paths)), "CUDA_VISIBLE_DEVICES": "0,1,2,3"}
    line = [sys.executable, TESTS / "dcgan_on_cards.py", *arguments]
    return subprocess.run(line, env=seen, capture_output=True, text=True, timeout=300)


@pytest.mark.slow
def test_every_card_brings_its_pictures_home_once_they_are_there(cards):
    """On fewer cards than images and on more; by every memory, with copies hidden or not, in streams and graphs."""
    cards(4)
    done = drawn()
    assert done.stdout == "352 runs were right\n", done.stderr


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        pytest.param("card left out", "elements of the result 'pictures' are NaN", marks=pytest.mark.slow),
        pytest.param("other order", "the error of 'pictures'", marks=pytest.mark.slow),
        ("no waiting", "elements of the result 'pictures' are NaN"),
    ],
)
def test_cards_that_work_wrong_are_noticed(cards, fault, words):
    cards(4)
    done = drawn("--fault", fault)
    assert done.returncode
    assert words in done.stderr.split("ladder.errors.LadderError: ")[1]
    assert not done.stdout
