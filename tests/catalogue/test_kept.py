"""What walks along the code found is kept while the code is the same, and no longer."""

import pytest

from ladder.catalogue import imports, kept, sources
from ladder.errors import LadderError

MINE = "ladder.workloads.gemm.mine"


@pytest.fixture
def own(tmp_path, monkeypatch):
    """A user's folder with a variant of gemm, in a study that keeps what it found."""
    (tmp_path / "results").mkdir()
    monkeypatch.setattr(kept, "FOLDER", tmp_path / "results/cache/code")
    monkeypatch.setenv("LADDER_VARIANTS", str(tmp_path / "variants"))
    folder = tmp_path / "variants/gemm"
    folder.mkdir(parents=True)
    (folder / "mine.py").write_text(VARIANT)
    yield folder
    sources.forget()


VARIANT = 'DEVICE = "cuda"\nRUNTIME = "cuda"\nSOURCE = "kernel.cu"\n'


def found():
    """The fingerprint and the files of the variant, as a new process finds them."""
    sources.forget()
    return sources.of(MINE), sources.code_of(MINE)


def walks(monkeypatch):
    """Count the walks from now on."""
    counted = []
    for name in ("fingerprint", "files_of_workloads"):
        walk = getattr(imports, name)
        monkeypatch.setattr(imports, name, lambda *roots, walk=walk: counted.append(roots) or walk(*roots))
    return counted


def test_a_second_process_finds_the_same_without_a_walk(own, monkeypatch):
    first = found()
    counted = walks(monkeypatch)
    assert found() == first
    assert not counted


@pytest.mark.parametrize("path", ["mine.py", "kernel.cu", "../include/shared.cuh"])
def test_any_edit_walks_anew_and_drops_what_was_kept(own, monkeypatch, path):
    (own / "kernel.cu").write_text('#include "shared.cuh"\n')
    (own.parent / "include").mkdir()
    (own.parent / "include/shared.cuh").write_text("int x;\n")
    first = found()
    with (own / path).open("a") as file:
        file.write("int z;\n" if path != "mine.py" else "z = 1\n")
    counted = walks(monkeypatch)
    assert found() != first
    assert len(counted) == 2
    assert len(list(kept.FOLDER.iterdir())) == 1


def test_what_python_compiles_is_no_edit(own, monkeypatch):
    first = found()
    (own / "__pycache__").mkdir()
    (own / "__pycache__/mine.cpython-311.pyc").write_bytes(b"\0")
    counted = walks(monkeypatch)
    assert found() == first
    assert not counted


def test_the_order_of_users_folders_counts(own, tmp_path, monkeypatch):
    other = tmp_path / "others/gemm"
    other.mkdir(parents=True)
    (other / "mine.py").write_text(VARIANT + "z = 1\n")
    answers = []
    for order in (("variants", "others"), ("others", "variants")):
        monkeypatch.setenv("LADDER_VARIANTS", ":".join(str(tmp_path / name) for name in order))
        answers.append(found())
    assert answers[0] != answers[1]


def test_a_torn_answer_is_found_anew(own):
    first = found()
    for path in kept.FOLDER.rglob("*.json"):
        path.write_text(path.read_text()[:-3])
    assert found() == first


def test_a_header_outside_of_the_code_is_read_every_time(own, tmp_path):
    (own / "kernel.cu").write_text('#include "../../far.cuh"\n')
    (tmp_path / "far.cuh").write_text("int x;\n")
    before, _ = found()
    (tmp_path / "far.cuh").write_text("int y;\n")
    assert found()[0] != before


def test_a_file_that_is_edited_during_the_walk_leaves_nothing_behind(own):
    """Its answer is of the new text, while the state is that of the old one."""
    sources.forget()
    kept.state()
    (own / "mine.py").write_text(VARIANT + "z = 1\n")
    edited = sources.of(MINE)
    (own / "mine.py").write_text(VARIANT)
    assert found()[0] != edited


def test_a_folder_that_cant_be_written_keeps_nothing_and_answers(own, tmp_path):
    (tmp_path / "results/cache").write_text("no folder")
    assert found() == found()


def test_an_error_is_no_answer(own):
    for _ in range(2):
        with pytest.raises(LadderError, match="There is no"):
            sources.of("ladder.workloads.gemm.nothing")
