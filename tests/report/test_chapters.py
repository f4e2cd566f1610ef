"""Chapters in their workloads' folders: their order, names that must agree, and bibliographies that share no entry."""

import pytest

from ladder.errors import LadderError
from ladder.report import chapters


@pytest.fixture
def write(tmp_path, monkeypatch):
    """A function that writes the only chapters, {workload: {file: text}}, and returns the folder of them."""

    def write(files):
        for workload, texts in files.items():
            (tmp_path / workload / "paper").mkdir(parents=True)
            for name, text in texts.items():
                (tmp_path / workload / "paper" / name).write_text(text)
        monkeypatch.setattr(chapters.workloads, "names", lambda: [*files])
        monkeypatch.setattr(chapters.locations, "folders", lambda workload: [tmp_path / workload])
        return tmp_path

    return write


def test_a_chapter_has_the_title_that_it_states_or_its_workloads_name(write):
    write({"gemm": {"__init__.py": 'TITLE = "Products"\nORDER = 2\n'}, "gemv": {"__init__.py": "ORDER = 1\n"}})
    assert [(item.title, item.order) for item in chapters.chapters()] == [("gemv", 1), ("Products", 2)]


def test_the_projects_chapters_have_their_order_and_tables():
    """Only a chapter whose lines have a UNIT has the table of a ladder."""
    tables = {item.workload: item.tables for item in chapters.chapters()}
    assert [*tables] == ["stream", "mlp", "gemm", "gemv", "backprop", "descent", "dcgan"]
    assert tables["gemv"][:2] == ("ladder", "verdicts")
    assert tables["gemm"] == ("square", "threads", "gpu", "gpu_mixed", "gpu_training")


def test_the_tables_that_a_chapter_names_must_have_functions(tmp_path, monkeypatch):
    gemm = chapters.Chapter("gemm", tmp_path, 1, "On gemm", ("other",))
    monkeypatch.setattr(chapters, "chapters", lambda: [gemm])
    assert chapters.table_names() == ["gemm_other"]
    with pytest.raises(LadderError, match=r"TABLES = \('other',\), but tables\.py has no function `other`"):
        chapters.tables(None)


def test_texts_come_in_order_and_no_bibliography_entry_is_in_two_chapters(write):
    gemm = {"__init__.py": 'ORDER = 1\nTITLE = "On gemm"', "text.tex": "A", "appendix.tex": "C"}
    gemv = {"text.tex": "B", "references.bib": "@article{one2000,\n  title = {One}\n}\n"}
    folder = write({"gemv": gemv, "gemm": gemm})
    texts = chapters.texts()
    assert texts["chapters/gemm/text.tex"] == "A"
    main = texts["chapters.tex"]
    assert main.index("chapters/gemm/text") < main.index("chapters/gemv/text")
    assert r"\section{On gemm}" in main
    assert "{,chapters/gemv/references}" in main.replace("%\n", "")
    (folder / "gemm/paper/references.bib").write_text(gemv["references.bib"])
    with pytest.raises(LadderError, match=r"'one2000' is in .*gemm/paper/ref.*\.bib and in .*gemv/paper/ref.*\.bib"):
        chapters.texts()


@pytest.mark.parametrize(
    ("literal", "kind"), [('ORDER = "first"', "a whole number"), ('TABLES = ("square")', "names in a tuple")]
)
def test_a_literal_of_another_kind_is_refused(write, literal, kind):
    write({"own": {"__init__.py": literal + "\n"}})
    with pytest.raises(LadderError, match=f"`{literal.split()[0]}` in line 1 of .* must be {kind}"):
        chapters.chapters()


@pytest.mark.slow
@pytest.mark.workflow
def test_a_mistake_in_a_chapter_ends_the_run_with_a_sentence(study):
    literals = study.folder / "src/ladder/workloads/gemm/paper/__init__.py"
    literals.write_text(literals.read_text().replace("ORDER = 21", "ORDER = (21"))
    output, status = study.snakemake("-n")
    assert status != 0
    assert "ladder: " in output
    assert "isn't valid Python" in output
    assert "Traceback" not in output
    assert "File " not in output
