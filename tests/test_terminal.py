"""Tables in a terminal."""

import shutil

import pytest

from ladder import terminal


@pytest.fixture
def narrow(monkeypatch):
    """A terminal of 20 columns."""
    monkeypatch.setattr(shutil, "get_terminal_size", lambda fallback: type("Size", (), {"columns": 20}))


def test_a_long_line_is_folded_at_its_last_cell(narrow):
    head, rows = ("a", "b"), [["1", "short"], ["22", "x" * 30]]
    assert list(terminal.table(head, rows, "a")) == [" a  b", " 1  short", "22", "    " + "x" * 30]
    titled = list(terminal.titled_table(("t", "a"), ["left right " * 3], [["1"]]))
    assert titled == ["    a", "left right left", "right left right", "    1"]


def test_columns_without_text_are_omitted():
    head, rows = terminal.with_text(("rank", "share", "case"), [["1", "", "a"], ["", "", "b"]])
    assert list(terminal.table(head, rows)) == ["rank  case", "1     a", "      b"]
