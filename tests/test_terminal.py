"""Tables in a terminal."""

import os
import shutil

import pytest

from ladder import terminal


@pytest.fixture
def narrow_terminal(monkeypatch):
    """A terminal of 20 columns."""
    monkeypatch.setattr(shutil, "get_terminal_size", lambda fallback: os.terminal_size((20, 24)))


def test_a_long_line_is_folded_at_its_last_cell(narrow_terminal):
    head, rows = ("a", "b"), [["1", "short"], ["22", "x" * 30]]
    assert list(terminal.table(head, rows, right_aligned=("a",))) == [" a  b", " 1  short", "22", "    " + "x" * 30]


def test_titles_stand_above_rows_that_are_too_long(narrow_terminal):
    titled = list(terminal.titled_table(("title", "a"), ["a long title " * 2], [["1"]]))
    # The head of the titles is omitted.
    assert titled == ["    a", "a long title a long", "title", "    1"]


def test_titles_stand_above_rows_that_are_too_long_without_them(narrow_terminal):
    titled = list(terminal.titled_table(("title", "a", "b"), ["one", "two"], [["1", "x" * 30], ["2", "short"]]))
    assert titled == ["    a  b", "one", "    1", "        " + "x" * 30, "two", "    2  short"]


def test_columns_without_text_are_omitted():
    head, rows = terminal.drop_empty_columns(("rank", "share", "case"), [["1", "", "a"], ["", "", "b"]])
    assert list(terminal.table(head, rows)) == ["rank  case", "1     a", "      b"]
