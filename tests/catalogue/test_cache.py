"""Fingerprints and lists of files are cached until the code changes."""

import pytest

from ladder.catalogue import cache, imports, sources
from ladder.errors import LadderError

VARIANT_MODULE = "ladder.workloads.gemm.mine"
VARIANT_TEXT = 'DEVICE = "cuda"\nRUNTIME = "cuda"\nSOURCE = "kernel.cu"\n'


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A user's folder with a variant of gemm, in a study that caches results."""
    (tmp_path / "results").mkdir()
    monkeypatch.setattr(cache, "FOLDER", tmp_path / "results/cache/code")
    monkeypatch.setenv("LADDER_VARIANTS", str(tmp_path / "variants"))
    folder = tmp_path / "variants/gemm"
    folder.mkdir(parents=True)
    (folder / "mine.py").write_text(VARIANT_TEXT)
    yield folder
    sources.clear_caches()


def fingerprint_and_files():
    """The fingerprint and the files of the variant, computed or cached as in a new process."""
    sources.clear_caches()
    return sources.digest(VARIANT_MODULE), sources.code_paths_of_roots(VARIANT_MODULE)


def record_walks(monkeypatch):
    """The list to which every later walk along imports, for a fingerprint or for files, appends its roots."""
    calls = []
    for name in ("fingerprint", "files_of_workloads"):
        walk = getattr(imports, name)
        monkeypatch.setattr(imports, name, lambda *roots, walk=walk: calls.append(roots) or walk(*roots))
    return calls


def test_a_second_process_reads_the_cached_results(folder, monkeypatch):
    first = fingerprint_and_files()
    walks = record_walks(monkeypatch)
    assert fingerprint_and_files() == first
    assert not walks


@pytest.mark.parametrize("path", ["mine.py", "kernel.cu", "../include/shared.cuh"])
def test_any_edit_recomputes_and_drops_the_cached_results(folder, monkeypatch, path):
    (folder / "kernel.cu").write_text('#include "shared.cuh"\n')
    (folder.parent / "include").mkdir()
    (folder.parent / "include/shared.cuh").write_text("int x;\n")
    first = fingerprint_and_files()
    with (folder / path).open("a") as file:
        file.write("int z;\n" if path != "mine.py" else "z = 1\n")
    walks = record_walks(monkeypatch)
    assert fingerprint_and_files() != first
    assert len(walks) == 2
    assert len(list(cache.FOLDER.iterdir())) == 1


def test_compiled_python_is_not_an_edit(folder, monkeypatch):
    first = fingerprint_and_files()
    (folder / "__pycache__").mkdir()
    (folder / "__pycache__/mine.cpython-311.pyc").write_bytes(b"\0")
    walks = record_walks(monkeypatch)
    assert fingerprint_and_files() == first
    assert not walks


def test_the_order_of_users_folders_counts(folder, tmp_path, monkeypatch):
    other_folder = tmp_path / "others/gemm"
    other_folder.mkdir(parents=True)
    (other_folder / "mine.py").write_text(VARIANT_TEXT + "z = 1\n")
    results = []
    for order in (("variants", "others"), ("others", "variants")):
        monkeypatch.setenv("LADDER_VARIANTS", ":".join(str(tmp_path / name) for name in order))
        results.append(fingerprint_and_files())
    assert results[0] != results[1]


def test_a_torn_entry_is_computed_again(folder):
    first = fingerprint_and_files()
    for path in cache.FOLDER.rglob("*.json"):
        path.write_text(path.read_text()[:-3])
    assert fingerprint_and_files() == first


def test_a_header_outside_of_the_code_is_read_every_time(folder, tmp_path):
    (folder / "kernel.cu").write_text('#include "../../far.cuh"\n')
    (tmp_path / "far.cuh").write_text("int x;\n")
    before, _ = fingerprint_and_files()
    (tmp_path / "far.cuh").write_text("int y;\n")
    assert fingerprint_and_files()[0] != before


def test_a_result_is_not_cached_if_a_file_was_edited_meanwhile(folder):
    """The result is that of the new text, while the digest of the code is that of the old text."""
    sources.clear_caches()
    cache.code_digest()
    (folder / "mine.py").write_text(VARIANT_TEXT + "z = 1\n")
    fingerprint = sources.digest(VARIANT_MODULE)
    (folder / "mine.py").write_text(VARIANT_TEXT)
    assert fingerprint_and_files()[0] != fingerprint


def test_a_folder_that_cant_be_written_caches_nothing_and_still_answers(folder, tmp_path):
    (tmp_path / "results/cache").write_text("no folder")
    assert fingerprint_and_files() == fingerprint_and_files()


def test_an_error_is_not_cached(folder):
    for _ in range(2):
        with pytest.raises(LadderError, match="doesn't exist"):
            sources.digest("ladder.workloads.gemm.nothing")
