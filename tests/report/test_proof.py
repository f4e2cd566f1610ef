"""Proofreading: each fault of the layout is found in a document that has it, and none in one that has none."""

import re
import shutil

import pytest
from matplotlib.figure import Figure

from ladder.errors import LadderError
from ladder.report import proof, typesetting

pytestmark = pytest.mark.skipif(
    not (shutil.which("latexmk") and shutil.which("pdftoppm")), reason="latexmk or poppler isn't installed"
)
FULL = r"\section{One} " + r"Some words that fill the page, and then some more of them. " * 80
PARAGRAPH = r"\par A few words."


def typeset(folder, body, title=r"\hypersetup{pdftitle={It}}"):
    """The folder of a small document."""
    source = folder / "it.tex"
    packages = r"\usepackage[hmargin=25mm,vmargin=20mm,includefoot]{geometry}\usepackage{graphicx,hyperref}"
    head = rf"\documentclass[10pt,a4paper]{{article}}{packages}{title}"
    source.write_text(f"{head}\\begin{{document}}\n{body}\n\\end{{document}}\n")
    typesetting.build(source, sorted(folder.glob("figures/*.pdf")), folder / "it", folder / "it.pdf")
    return folder / "it"


def test_a_sound_document_has_no_fault(tmp_path):
    ended = r"\clearpage\section{Two} A chapter's last page may be short."
    assert proof.faults(typeset(tmp_path, rf"{FULL}\clearpage {PARAGRAPH} {ended}"), most=3) == []


def test_every_fault_is_found(tmp_path):
    (tmp_path / "figures").mkdir()
    Figure(figsize=(8, 1)).savefig(tmp_path / "figures/wide.pdf")
    wide = (
        r"\noindent\rule{\dimexpr\linewidth+3pt}{1ex}\par\noindent\includegraphics[width=\linewidth]{figures/wide.pdf}"
    )
    high = r"\begin{figure}\rule{1ex}{\dimexpr\textheight+5pt}\end{figure}"
    body = rf"{wide}{high}\clearpage {PARAGRAPH}\clearpage {PARAGRAPH}"
    found = " ".join(proof.faults(typeset(tmp_path, body, title=""), most=2))
    sentences = (
        r"A box is 3\.\d* points too wide",
        r"A float is \d+\.\d* points too high",
        "wide.pdf is 576 points wide",
        "no title",
        "no outline",
        r"has \d pages, 2 at most",
        r"Page \d is filled to \d+ % only",
    )
    for sentence in sentences:
        assert re.search(sentence, found), sentence


def test_a_document_that_is_not_there_is_asked_for(tmp_path):
    with pytest.raises(LadderError, match="run `snakemake paper` first"):
        proof.faults(tmp_path / "paper")
