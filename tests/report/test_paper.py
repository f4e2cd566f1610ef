"""The paper: no number typed by hand, no key misspelt, the same bytes from the same inputs, and errors as sentences."""

import functools
import json
import re
import shutil
import subprocess
import zipfile
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest

import drawings
import made_up
from conftest import ROOT
from ladder.catalogue.traits import gpus
from ladder.errors import LadderError
from ladder.harness.sensitivity import ELEMENT, ROW
from ladder.harness.sensitivity import cases as sensitivity_cases
from ladder.planning import configuration
from ladder.report import captions, chapters, figures, latex, numbers, tables, texts, typesetting
from ladder.report.figures import theme
from ladder.store.study import Study
from made_up import chapters as made_chapters

PAPER = ROOT / "paper"
pytestmark = pytest.mark.xdist_group("paper")  # one worker for all tests, so that each paper is typeset once
needs_latex = pytest.mark.skipif(not shutil.which("latexmk"), reason="latexmk isn't installed")


def values_of(study):
    return numbers.numbers(study, configuration.protocol({}), margin=1.25)


def write_tables(study, folder):
    """Write the tables of a study as LaTeX, like the workflow does; returns their paths."""
    (folder / "kernel.json").write_text(json.dumps(made_up.kernel_report()))
    write_sensitivity(folder / "sensitivity.csv")
    for name, text in tables.tables(study, [folder / "kernel.json"], folder / "sensitivity.csv").items():
        latex.write(folder / f"results/tex/{name}.tex", text)
    return sorted((folder / "results/tex").glob("*.tex"))


def write_sensitivity(path):
    """Write a file like `ladder sensitivity` does: for each case a check that refuses errors and one that doesn't."""
    check_rows = [
        {
            "array": "history",
            "share": 0.0123,
            "places": 5,
            "fault": fault,
            "check": check,
            "seen": count,
            "error": error,
        }
        for fault in (ELEMENT, ROW)
        for check, count, error in (("columns projected", 3, 1.23e-15), ("residual before it stops", 0, None))
    ]
    cases = [
        {"workload": case.workload, "variant": case.variant, "case": case.slug, "dtype": case.sizes["dtype"]}
        for case in sensitivity_cases()
    ]
    pd.DataFrame([case | check_row for case in cases for check_row in check_rows]).to_csv(path)


def sources():
    """{path: text} of the paper's own and the chapters' LaTeX."""
    return {
        str(path): path.read_text()
        for path in [*sorted(PAPER.glob("*.tex")), *chapters.files(*chapters.TEXT_FILES[:2])]
    }


def joined_sources():
    return "\n".join(sources().values())


def build(study, folder, document="paper"):
    """The path of the PDF of the paper about a study, or of its supplement, and the text of LaTeX's log."""
    out = folder / f"{document}.pdf"
    typesetting.build(PAPER / f"{document}.tex", write_tables(study, folder), folder / document, out, texts_of(study))
    return out, (folder / f"{document}/{document}.log").read_text(errors="replace")


def texts_of(study):
    """All texts about a study, as the typesetting reads them."""
    return chapters.texts() | captions.text() | texts.render(study, values_of(study), sorted(PAPER.glob("*.tex")))


def text_of(pdf):
    return subprocess.run(["pdftotext", "-layout", pdf, "-"], capture_output=True, text=True, check=True).stdout


def test_every_key_of_the_text_is_one_of_the_numbers():
    """Rendering stops at an unknown name."""
    assert texts_of(Study({}, None))


def test_every_table_is_in_the_text():
    assert sorted(re.findall(r"\\(?:long)?studytable\{(\w+)\}", joined_sources())) == sorted(tables.names())


def test_every_figure_is_in_the_text():
    assert sorted(re.findall(r"\\studyfigure\{(\w+)\}", joined_sources())) == figures.names()


def test_a_figures_caption_is_its_modules():
    text = captions.text()["captions.tex"]
    for name in figures.names():
        assert f"\\definecaption{{{name}}}{{{latex.prose(figures.constants(name)['CAPTION'])}}}" in text


# The templates that may state no number of their own; method.tex has those of the method.
NUMBER_FREE = [PAPER / f"{name}.tex" for name in ("introduction", "synthesis", "build")]


@pytest.mark.parametrize("path", [*NUMBER_FREE, *chapters.files("text.tex", "appendix.tex")], ids=str)
def test_no_measured_number_is_typed_by_hand(path):
    text = re.sub(r"(?s)<<.*?>>|<%.*?%>", "", path.read_text())
    text = re.sub(r"(?m)%.*$", "", text)
    text = re.sub(r"\\(?:ref|label|studyfigure|studytable|code|cite[a-z]*)\{[^{}]*\}", "", text)
    # Allowed: the pixels of an image, the level of an interval, BLAS's level, types and a method, the widths of
    # columns; the studies' years and machines; and numbers of slides.
    text = re.sub(r"28 \\times 28|\\qty\{9[059]\}\{\\percent\}|level~3|TF32|im2col|8-bit|p\{[^{}]*\}", "", text)
    text = re.sub(r", 20\d\d(?:/\d\d)? &|K40|i7-7700K|FX~3800", "", text)
    text = re.sub(r"slides?[~ ]\d+(?:, \d+)*|\(\d+(?:, \d+)*\)", "", text)
    assert re.findall(r"[^\n]*\d[^\n]*", text) == []


def test_every_cited_work_is_in_a_bibliography_and_every_entry_is_cited():
    cited = {key for group in re.findall(r"\\cite\w*\{([^}]*)\}", joined_sources()) for key in group.split(",")}
    bibliographies = [PAPER / "references.bib", *chapters.files("references.bib")]
    assert sorted(cited) == sorted(
        key for path in bibliographies for key in re.findall(r"@\w+\{(\w+),", path.read_text())
    )


def study_of_everything():
    """The study of all experiments on one machine, with those of `one_thread_study` on a published one."""
    parts = {
        experiment: tables
        for workload in made_chapters.WORKLOADS
        for experiment, tables in made_chapters.full_study(workload).tables.items()
    }
    return made_up.merge(
        replace(made_chapters.full_study("gemm"), tables=parts), one_thread_study("another (published)")
    )


def one_thread_study(machine=made_up.MACHINE):
    """The study of products and trainings on a machine of one core."""
    return made_chapters.study("gemm", drop=lambda case: gpus(case) > 0, machine=machine, max_threads=1)


@pytest.fixture(scope="module")
def papers(tmp_path_factory):
    """A function of a study's name: its PDF and LaTeX's log, made only once."""
    studies = {"nothing": lambda: Study({}, None), "one thread": one_thread_study}
    studies |= {"everything": study_of_everything}
    return functools.cache(lambda name: build(studies[name](), tmp_path_factory.mktemp("paper")))


@needs_latex
@pytest.mark.slow
@pytest.mark.parametrize("name", ["nothing", "one thread", "everything"])
def test_the_paper_fits_the_page_whatever_was_measured(papers, name):
    pdf, log = papers(name)
    assert re.findall(r"Overfull \\[hv]box \((?:[2-9]|\d\d+)\.?\d*pt.*", log) == []
    assert "undefined" not in log
    assert pdf.read_bytes()[:4] == b"%PDF"


@pytest.mark.slow
@needs_latex
@pytest.mark.skipif(not shutil.which("pdftotext"), reason="pdftotext isn't installed")
def test_the_text_states_what_was_not_measured(papers):
    text = text_of(papers("nothing")[0])
    assert "No machine has measured" in text
    assert "This figure can" in text
    assert "not tested" in text


@pytest.mark.slow
@needs_latex
@pytest.mark.skipif(not shutil.which("pdftotext"), reason="pdftotext isn't installed")
def test_the_text_lacks_nothing_where_everything_was_measured(papers):
    text = text_of(papers("everything")[0])
    assert "no measurement" not in text
    assert made_up.MACHINE in text


@pytest.mark.slow
@needs_latex
@pytest.mark.parametrize("chapter", [name for name in made_chapters.WORKLOADS if name != "gemm"])
def test_a_chapters_text_fills_at_most_four_pages(tmp_path, chapter):
    """The chapter is typeset alone, with figures of two machines, one of them without a GPU."""
    host_study = made_chapters.study(chapter, drop=lambda case: gpus(case) > 0, machine="amd-epyc-2c (published)")
    study = made_up.merge(made_chapters.study(chapter, machine="nvidia-h200"), host_study)
    inputs, ceilings = write_tables(study, tmp_path), drawings.ceilings((study.machine_name,))
    (tmp_path / "results/figures").mkdir()
    all_texts = texts_of(study)
    for name in re.findall(r"\\studyfigure\{(\w+)\}", all_texts[f"chapters/{chapter}/text.tex"]):
        with theme.context():
            figure_tables = {
                experiment: study.tables[experiment] for experiment in figures.constants(name)["EXPERIMENTS"]
            }
            theme.save(drawings.draw(name, figure_tables, ceilings), tmp_path / f"results/figures/{name}.pdf")
    inputs += sorted((tmp_path / "results/figures").glob("*.pdf"))
    for name in ("macros.tex", "preamble.tex", "references.bib"):
        shutil.copy(PAPER / name, tmp_path)
    preamble, _ = (PAPER / "paper.tex").read_text().split(r"\begin{document}")
    body = rf"\begin{{document}}\section{{It}}\input{{chapters/{chapter}/text}}\clearpage After.\label{{after}}"
    references = f",chapters/{chapter}/references" if f"chapters/{chapter}/references.bib" in all_texts else ""
    # BibTeX fails without any citation.
    works = rf"\nocite{{goto2008}}\bibliographystyle{{plainnat}}\bibliography{{references{references}}}\end{{document}}"
    (tmp_path / "alone.tex").write_text(f"{preamble}{body}{works}\n")
    typesetting.build(tmp_path / "alone.tex", inputs, tmp_path / "build", tmp_path / "alone.pdf", all_texts)
    (page_after,) = re.findall(r"newlabel\{after\}\{\{[^}]*\}\{(\d+)\}", (tmp_path / "build/alone.aux").read_text())
    assert int(page_after) - 1 <= 4
    assert "Overfull" not in (tmp_path / "build/alone.log").read_text(errors="replace")


@pytest.mark.slow
@needs_latex
def test_the_same_inputs_give_the_same_bytes(papers, tmp_path):
    second_pdf, _ = build(Study({}, None), tmp_path)
    assert papers("nothing")[0].read_bytes() == second_pdf.read_bytes()


def write_small_paper(folder, text):
    """The path of a small paper with the project's macros."""
    shutil.copy(PAPER / "macros.tex", folder)
    head = r"\documentclass{article}\usepackage{siunitx,graphicx}\input{macros}\begin{document}"
    (folder / "tiny.tex").write_text(f"{head}\n{text}\n\\end{{document}}\n")
    return folder / "tiny.tex"


@needs_latex
@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (r"\figurecaption{unheard_of}", "There is no figure `unheard_of'"),
        (r"\nonsense", "Undefined control sequence"),
        (r"See \ref{nowhere}.", "nowhere"),
        (r"\usepackage{nosuchpackage}", "Can be used only in preamble"),
    ],
)
def test_a_mistake_in_the_text_stops_the_build_and_is_named(tmp_path, text, sentence):
    with pytest.raises(LadderError, match=re.escape(sentence)):
        typesetting.build(write_small_paper(tmp_path, text), [], tmp_path / "build", tmp_path / "tiny.pdf")
    assert not (tmp_path / "tiny.pdf").exists()


@needs_latex
def test_a_mistake_in_a_chapter_is_named_by_the_chapters_own_file(tmp_path):
    copy = "chapters/own/text.tex"
    options = {"texts": {copy: r"\figurecaption{unheard_of}"}, "origins": {copy: "own/paper/text.tex"}}
    source = write_small_paper(tmp_path, r"\input{chapters/own/text}")
    with pytest.raises(LadderError, match=r"stopped: own/paper/text\.tex:1: .*There is no figure `unheard_of'"):
        typesetting.build(source, [], tmp_path / "build", tmp_path / "tiny.pdf", **options)


@needs_latex
def test_a_broken_build_does_not_spoil_the_next(tmp_path):
    with pytest.raises(LadderError):
        typesetting.build(write_small_paper(tmp_path, r"\nonsense"), [], tmp_path / "build", tmp_path / "tiny.pdf")
    typesetting.build(write_small_paper(tmp_path, "Text."), [], tmp_path / "build", tmp_path / "tiny.pdf")
    assert (tmp_path / "tiny.pdf").exists()


ODD_NAME = "Kim, Lee & co;: $HOME #%~^ '\"` {a} \\ ä"
HOSTILE_VARIABLES = {
    "TEXINPUTS": "/nowhere//",
    "BIBINPUTS": "/nowhere",
    "openout_any": "r",
    "max_print_line": "20",
    "TZ": "Asia/Tokyo",
}
HOSTILE_VARIABLES |= {
    "LANG": "de_DE.UTF-8",
    "LC_ALL": "C",
    "TEXMFCNF": "/nowhere",
    "SOURCE_DATE_EPOCH": "5",
    "PERL5OPT": "-Mnosuch",
}
FOLDER_NAMES = [
    ODD_NAME,
    *(
        pytest.param(sign, marks=[pytest.mark.slow, pytest.mark.surroundings])
        for sign in sorted(sign for sign in {*ODD_NAME} if not sign.isalpha() and sign != " ")
    ),
]


@pytest.mark.slow
@needs_latex
@pytest.mark.parametrize("name", FOLDER_NAMES)
def test_a_paper_is_the_same_whatever_its_folder_and_the_environment(tmp_path, monkeypatch, name):
    """Also with a user's configuration of latexmk and a user's package of another version."""
    pdfs = []
    for folder in (tmp_path / "plain", tmp_path / f"a{name}b"):
        (folder / "results/figures").mkdir(parents=True)
        (folder / "results/tex").mkdir()
        (folder / "results/tex/one.tex").write_text("It.")
        source = write_small_paper(
            folder, r"\input{tex/one}\input{part/two}\cite{it}\bibliographystyle{plain}\bibliography{works}"
        )
        (folder / "works.bib").write_text("@misc{it, title={It}}")
        (folder / "part").mkdir()
        (folder / "part/two.tex").write_text("Two.")
        typesetting.build(source, [folder / "results/tex/one.tex"], folder / "results/paper", folder / "tiny.pdf")
        pdfs.append((folder / "tiny.pdf").read_bytes())
        home = folder / "home"
        (home / "texmf/tex/latex").mkdir(parents=True)
        (home / "texmf/tex/latex/siunitx.sty").write_text("nonsense")
        (home / ".latexmkrc").write_text("die;")
        monkeypatch.chdir(home)
        for key, value in (HOSTILE_VARIABLES | {"HOME": str(home), "TEXMFHOME": str(home / "texmf")}).items():
            monkeypatch.setenv(key, value)
    assert pdfs[0] == pdfs[1]


def test_a_missing_package_is_named_with_what_to_install():
    log = "This is pdfTeX\n./paper/preamble.tex:9: LaTeX Error: File `siunitx.sty' not found.\n\nl.10 \\usepackage\n"
    assert "siunitx.sty" in typesetting.first_error(log)
    assert "texlive-science" in typesetting.first_error(log)


def test_an_error_has_the_line_that_latex_stopped_at():
    log = [
        "This is pdfTeX",
        "(./it.tex",
        "",
        "",
        "l.3 earlier",
        "! Undefined control sequence.",
        "<recently read> \\no",
    ]
    assert (
        typesetting.first_error("\n".join([*log, "", r"l.12 \no", "later"])) == r"Undefined control sequence [l.12 \no]"
    )
    assert typesetting.first_error("\n".join([*log, *[""] * 6, r"l.12 \no"])) == "Undefined control sequence"
    assert typesetting.first_error("Output\n Fatal error: no bibtex \nand more") == "Fatal error: no bibtex"
    assert typesetting.first_error("All is well") == ""


def test_without_a_log_the_messages_are_what_latexmk_printed(tmp_path, monkeypatch):
    process = SimpleNamespace(returncode=12, stdout="! One.\n", stderr="! Two.\n")
    monkeypatch.setattr(typesetting.processes, "run", lambda *_, **__: process)
    assert typesetting.run_latex("it.tex", tmp_path) == (process, "! One.\n! Two.\n", tmp_path / "it.log")
    (tmp_path / "it.log").write_text("! Three.")
    assert typesetting.run_latex("it.tex", tmp_path)[1] == "! Three."


def test_where_latex_says_nothing_its_status_is_reported(tmp_path, monkeypatch):
    silent = SimpleNamespace(returncode=12, stdout="", stderr="")
    monkeypatch.setattr(typesetting, "run_latex", lambda name, folder: (silent, "", "x.log"))
    monkeypatch.setattr(typesetting.shutil, "which", lambda program: program)
    with pytest.raises(LadderError, match=r"LaTeX stopped: latexmk ended with status 12. The log is x.log"):
        typesetting.build(write_small_paper(tmp_path, ""), [], tmp_path / "build", tmp_path / "tiny.pdf")


def test_without_latex_a_sentence_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(LadderError, match="apt-get install latexmk"):
        typesetting.build(PAPER / "paper.tex", [], tmp_path / "build", tmp_path / "paper.pdf")


@needs_latex
@pytest.mark.slow
@pytest.mark.workflow
def test_the_report_is_made_inside_the_workflow_and_once(study):
    study.add_training()
    output, status = study.snakemake("--cores", "2")
    assert status == 0, output
    with zipfile.ZipFile(study.folder / "results/report.zip") as report:
        names = {Path(name).name for name in report.namelist()}
        page = report.read("report/report.html").decode()
    assert {"paper.pdf", "supplement.pdf", "validation.html", "mlp_learning.svg", "report.html", "index.html"} <= names
    assert "javascript:app.showCategory('Page%20of%20results')" in page  # a link of the front page
    assert {path.name for path in (study.folder / "results/site").iterdir()} == {
        "index.html",
        "paper.pdf",
        "supplement.pdf",
    }
    assert "comparison nearest to its bound" in page  # the caption of the validation
    output, status = study.snakemake("--cores", "2")
    assert "Nothing to be done" in output
    assert status == 0
    before = (study.folder / "results/paper.pdf").read_bytes()
    path = study.folder / "paper/introduction.tex"
    intact_text = path.read_text()
    path.write_text(intact_text + r"\nonsense")
    output, status = study.snakemake("--cores", "2")
    assert status == 1
    assert "Undefined control sequence" in output
    assert (study.folder / "results/paper.pdf").read_bytes() == before
    assert "results/paper.pdf" in study.pending_files("results/paper.pdf")
