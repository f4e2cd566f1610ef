"""The cache returns what was stored; a changed key, a changed byte or another version gives nothing."""

import pytest

from ladder.store import table_cache


@pytest.fixture(autouse=True)
def study(tmp_path, monkeypatch):
    """A working directory with the folder `results`."""
    (tmp_path / "results").mkdir()
    monkeypatch.chdir(tmp_path)


def test_stored_parts_are_loaded_unchanged():
    table_cache.store_parts("a.csv", "key", {"one": b"1\n", "two": b"", "": b"\x00" * 70000})
    assert [table_cache.load_part("a.csv", "key", part) for part in ("one", "two", "")] == [
        b"1\n",
        b"",
        b"\x00" * 70000,
    ]


def test_a_part_that_a_table_lacks_is_empty_and_a_table_that_is_not_stored_is_none():
    table_cache.store_parts("a.csv", "key", {"one": b"1"})
    assert table_cache.load_part("a.csv", "key", "two") == b""
    assert table_cache.load_part("b.csv", "key", "one") is None


def test_another_key_is_another_content():
    table_cache.store_parts("a.csv", "key", {"": b"1"})
    assert table_cache.load_part("a.csv", "other") is None
    table_cache.store_parts("a.csv", "other", {"": b"2"})
    assert table_cache.load_part("a.csv", "key") is None
    assert table_cache.load_part("a.csv", "other") == b"2"


def test_another_version_of_pandas_or_of_the_code_is_another_key(monkeypatch):
    table_cache.store_parts("a.csv", "key", {"": b"1"})
    with monkeypatch.context() as patch:
        patch.setattr(table_cache.pd, "__version__", "0")
        assert table_cache.load_part("a.csv", "key") is None
    assert table_cache.load_part("a.csv", "key") == b"1"


def test_a_changed_byte_never_gives_another_content():
    table_cache.store_parts("a.csv", "key", {"": b"12345"})
    path = table_cache.path_of("a.csv")
    content = path.read_bytes()
    for index in range(0, len(content)):
        path.write_bytes(content[:index] + bytes([content[index] ^ 1]) + content[index + 1 :])
        assert table_cache.load_part("a.csv", "key") in (None, b"12345"), index
    for length in range(0, len(content)):
        path.write_bytes(content[:length])
        assert table_cache.load_part("a.csv", "key") is None


def test_without_a_study_nothing_is_stored(tmp_path):
    (tmp_path / "results").rmdir()
    table_cache.store_parts("a.csv", "key", {"": b"1"})
    assert table_cache.load_part("a.csv", "key") is None
    assert not list(tmp_path.iterdir())
