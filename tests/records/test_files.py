"""Files that are replaced atomically: open files and hard links keep the old contents."""

import os
import time

import pytest

from ladder.errors import LadderError
from ladder.records import files, record


@pytest.mark.parametrize(("old", "new"), [("old", "new and longer"), (b"\xff\x00", b"\x01")])
def test_a_file_is_replaced_and_not_overwritten_in_place(tmp_path, old, new):
    path, link = tmp_path / "deep/one.json", tmp_path / "link"
    files.write_atomically(path, old)
    os.link(path, link)
    with path.open("rb") as reader:
        files.write_atomically(path, new)
        assert reader.read() == (old if isinstance(old, bytes) else old.encode())
    assert path.read_bytes() == (new if isinstance(new, bytes) else new.encode())
    assert path.stat().st_ino != link.stat().st_ino
    assert [entry.name for entry in path.parent.iterdir()] == ["one.json"]


def test_a_record_is_replaced_and_not_overwritten_in_place(tmp_path, monkeypatch):
    monkeypatch.setattr(record, "require_valid", lambda *arguments: None)  # its contents don't matter here
    path = tmp_path / "record.json"
    record.write(path, {"old": 1})
    with path.open() as reader:
        record.write(path, {"new": 1})
        assert '"old"' in reader.read()
        assert files.read_json(path)["new"] == 1


def test_links_and_pipes_are_not_replaced(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    for name in ("pipe", "link"):
        with pytest.raises(LadderError, match="can't be replaced: it is a link, a device or a pipe"):
            files.require_writable(tmp_path / name)


def test_json_without_the_keys_or_without_an_object_is_refused(tmp_path):
    path = tmp_path / "one.json"
    for text, keys in (("[]", ()), ("7", ()), ('{"a": 1}', ("a", "b"))):
        path.write_text(text)
        with pytest.raises(LadderError, match="must be a JSON object with"):
            files.read_json(path, *keys)
    assert files.read_json(path, "a") == {"a": 1}
    with pytest.raises(LadderError, match="can't be read: No such file"):
        files.read_json(tmp_path / "none.json")


@pytest.mark.parametrize("path", ["x" * 250, "/".join(["x" * 200] * 21), "é" * 130])
def test_a_path_that_is_too_long_is_refused_beforehand(tmp_path, path):
    """Linux allows names of 255 bytes, of which the temporary file needs more than its target, and paths of 4096."""
    with pytest.raises(LadderError, match=r"the file system allows (names|paths) of .* Give it a shorter name"):
        files.require_writable(tmp_path / path)


def test_a_folder_that_cannot_be_written_is_refused(tmp_path):
    files.require_writable_folders([tmp_path / "a/b/one.json", tmp_path / "two.json"])
    assert not list(tmp_path.iterdir())
    with pytest.raises(LadderError, match=r"/proc can't be written: "):
        files.require_writable_folders(["/proc/nowhere/one.json"])


def test_modification_times_in_the_future_are_set_to_now_in_the_same_order(tmp_path):
    now = time.time()
    times = {"old": now - 100, "a/later": now + 2000, "sooner": now + 1000}
    for name, seconds in times.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.touch()
        os.utime(path, (seconds, seconds))
    files.clamp_future_times(tmp_path)
    modified = {name: (tmp_path / name).stat().st_mtime for name in times}
    assert modified["old"] == pytest.approx(now - 100)
    assert now <= modified["sooner"] < modified["a/later"] <= time.time()


@pytest.mark.parametrize("name", [os.fsdecode(b"caf\xe9"), os.fsdecode(b"\xff")])
def test_a_folder_whose_name_is_not_utf_8_is_refused(tmp_path, name):
    files.require_utf8(tmp_path, tmp_path / "café", "a deleted folder")
    with pytest.raises(LadderError, match=r"isn't UTF-8: rename the folder") as error:
        files.require_utf8(tmp_path, tmp_path / name)
    assert str(error.value).encode()


def test_a_folder_that_the_locale_cannot_encode_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(files.os, "fsencode", lambda path: b"caf\xc3\xa9")
    with pytest.raises(LadderError, match=r"café .* set PYTHONUTF8=1"):
        files.require_utf8("caf\udcc3\udca9")
