"""Progress in a terminal, where a state replaces the previous one, and elsewhere."""

import io

import pytest

from ladder.harness.progress import ERASE, Progress, SilentProgress, percent


class Terminal(io.StringIO):
    """A stream that is a terminal."""

    def isatty(self):
        return True


def test_a_state_is_replaced_in_a_terminal_and_sentences_stay():
    progress = Progress(Terminal())
    progress.show("1")
    progress.show("2")
    progress.say("It is done.")
    progress.clear()
    assert progress.stream.getvalue() == f"{ERASE}1{ERASE}2{ERASE}It is done.\n"


def test_elsewhere_every_state_is_a_line():
    progress = Progress(io.StringIO())
    progress.show("1")
    progress.say("It is done.")
    progress.clear()
    assert progress.stream.getvalue() == "1\nIt is done.\n"


def test_a_job_says_nothing():
    progress = SilentProgress(io.StringIO())
    progress.show("1")
    progress.say("It is done.")
    assert not progress.stream.getvalue()


@pytest.mark.parametrize(("fraction", "text"), [(0.05, "5 %"), (0.123, "12 %"), (2.0, "more than 100 %")])
def test_a_precision_has_two_digits(fraction, text):
    assert percent(fraction) == text
