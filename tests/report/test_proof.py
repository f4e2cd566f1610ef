"""Proofreading: each fault of the layout is reported for a document that has it, and none for one without faults."""

import re
import shutil
from types import SimpleNamespace

import numpy as np
import pytest
from matplotlib.figure import Figure

from ladder.errors import LadderError
from ladder.report import proof, typesetting

needs_programs = pytest.mark.skipif(
    not (shutil.which("latexmk") and shutil.which("pdftoppm")), reason="latexmk or poppler isn't installed"
)
FULL_PAGE = r"\section{One} " + r"Some words that fill the page, and then some more of them. " * 80
PARAGRAPH = r"\par A few words."


def typeset(folder, body, title=r"\hypersetup{pdftitle={It}}"):
    """Typeset a small document; returns its folder."""
    source = folder / "it.tex"
    packages = r"\usepackage[hmargin=25mm,vmargin=20mm,includefoot]{geometry}\usepackage{graphicx,hyperref}"
    head = rf"\documentclass[10pt,a4paper]{{article}}{packages}{title}"
    source.write_text(f"{head}\\begin{{document}}\n{body}\n\\end{{document}}\n")
    typesetting.build(source, sorted(folder.glob("figures/*.pdf")), folder / "it", folder / "it.pdf")
    return folder / "it"


@needs_programs
def test_a_document_without_faults_has_none_reported(tmp_path):
    last_page = r"\clearpage\section{Two} A chapter's last page may be short."
    assert proof.faults(typeset(tmp_path, rf"{FULL_PAGE}\clearpage {PARAGRAPH} {last_page}"), max_pages=3) == []


@pytest.mark.slow
@needs_programs
def test_every_fault_of_a_document_is_reported(tmp_path):
    (tmp_path / "figures").mkdir()
    Figure(figsize=(8, 1)).savefig(tmp_path / "figures/wide.pdf")
    wide = (
        r"\noindent\rule{\dimexpr\linewidth+3pt}{1ex}\par\noindent\includegraphics[width=\linewidth]{figures/wide.pdf}"
    )
    high = r"\begin{figure}\rule{1ex}{\dimexpr\textheight+5pt}\end{figure}"
    body = rf"{wide}{high}\clearpage {PARAGRAPH}\clearpage {PARAGRAPH}"
    report = " ".join(proof.faults(typeset(tmp_path, body, title=""), max_pages=2))
    sentences = (
        r"A box is 3\.\d* points too wide",
        r"A float is \d+\.\d* points too high",
        "wide.pdf is 576 points wide",
        "no title",
        "no outline",
        r"has \d pages; at most 2 are allowed",
        r"Page \d is filled to \d+ % only",
    )
    for sentence in sentences:
        assert re.search(sentence, report), sentence


def test_a_missing_document_is_refused_with_the_command_that_makes_it(tmp_path):
    with pytest.raises(LadderError, match="run `snakemake paper` first"):
        proof.faults(tmp_path / "paper")


def test_a_box_is_a_fault_if_it_is_more_than_a_point_too_large():
    log = r"""
Overfull \hbox (1.0pt too wide) in paragraph at lines 3--4
Overfull \hbox (1.01pt too wide) in paragraph at lines 5--6
Overfull \vbox (12.5pt too high) has occurred while \output is active
LaTeX Warning: Float too large for page by 7.0pt on input line 8.
LaTeX Warning: Reference `fig:one' on page 1 undefined on input line 9.
"""
    assert list(proof.log_faults(log)) == [
        "A box is 1.01 points too wide.",
        "A box is 12.5 points too high.",
        "A float is 7.0 points too high for a page.",
        "The reference fig:one is undefined.",
    ]


def page(height, *ink_rows, width=4):
    """A page in PGM, as pdftoppm writes it: all pixels just too light to count as ink, but some rows have ink."""
    pixels = np.full((height, width), proof.INK_THRESHOLD, np.uint8)
    pixels[list(ink_rows), -1] = proof.INK_THRESHOLD - 1
    return b"P5\n%d %d\n255\n" % (width, height) + pixels.tobytes()


def test_a_page_is_filled_down_to_its_last_ink_above_the_margin(monkeypatch):
    """Of 300 rows, the text has 243, 28 to 270; ink outside, such as the page number, is ignored."""
    pages = page(300, 28, 149) + page(300, 0, 27, 271, 299) + page(300, 270) + page(300, 28, width=5)
    monkeypatch.setattr(proof.processes, "run", lambda *_, **__: SimpleNamespace(stdout=pages))
    assert proof.filled_shares("it.pdf") == pytest.approx([122 / 243, 0.0, 1.0, 1 / 243])


@pytest.fixture
def document(tmp_path, monkeypatch):
    """A folder whose document has four pages and a title; how far each page is filled is made up."""
    folder = tmp_path / "it"
    (folder / "figures").mkdir(parents=True)
    for name in ("it.pdf", "it.log", "figures/narrow.pdf", "figures/wide.pdf"):
        (folder / name).touch()
    (folder / "it.out").write_text("One")
    sizes = {"narrow.pdf": "Page size:      454.5 x 9 pts", "wide.pdf": "Page size:      454.6 x 9 pts"}
    texts = "\f".join(["1 One", "more", "more", "2 Two"])
    outputs = {"pdfinfo": lambda path: sizes.get(path.name, "Title:  It"), "pdftotext": lambda *_: texts}
    monkeypatch.setattr(proof, "run_poppler", lambda program, *arguments: outputs[program](*arguments))
    monkeypatch.setattr(proof, "filled_shares", lambda pdf: [0.41, 0.5, 0.3, 0.1])
    monkeypatch.setattr(proof.shutil, "which", lambda program: program)
    return folder


def test_a_page_is_at_least_half_full_except_before_a_heading_and_at_the_end(document):
    """The figure is wider than 160 mm, 453.5 points, by more than a point."""
    wide = "wide.pdf is 455 points wide and the text 454: its type is scaled."
    assert proof.faults(document, max_pages=4) == [wide, "Page 1 is filled to 41 % only."]
    assert "The document has 4 pages; at most 3 are allowed." in proof.faults(document, max_pages=3)
