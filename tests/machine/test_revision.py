"""The revision of the source that a record names."""

import subprocess

import pytest

from ladder.machine import revision


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """A repository with one commit, of which the sources are."""
    monkeypatch.delenv("LADDER_COMMIT", raising=False)
    monkeypatch.setattr(revision, "__file__", str(tmp_path / "source.py"))
    (tmp_path / "source.py").touch()
    author = ["-c", "user.name=x", "-c", "user.email=x@y"]
    for command in (["init", "-q"], ["add", "."], [*author, "commit", "-q", "-m", "One"]):
        subprocess.run(["git", "-C", tmp_path, *command], check=True)
    return tmp_path


def test_changed_sources_are_dirty_and_files_beside_them_are_not(repository):
    found = revision.current()
    assert len(found["commit"]) == 40
    (repository / "beside").touch()
    assert revision.current() == found == {"commit": found["commit"], "dirty": False}
    (repository / "source.py").write_text("x = 1\n")
    assert revision.current() == {"commit": found["commit"], "dirty": True}


def test_a_copy_without_history_has_the_commit_that_it_is_given(monkeypatch):
    for text, dirty in (("abc", False), ("abc-dirty", True)):
        monkeypatch.setenv("LADDER_COMMIT", text)
        assert revision.current() == {"commit": "abc", "dirty": dirty}
        assert revision.format(revision.current()) == text
