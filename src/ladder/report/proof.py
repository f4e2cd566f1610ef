"""Proofread a typeset document: report faults of its layout, from its log and its pages, as sentences.

It needs pdfinfo, pdftotext and pdftoppm, from Debian's package poppler-utils.
"""

import re
import shutil
from pathlib import Path

import numpy as np

from ladder.errors import LadderError
from ladder.machine import processes, programs

TEXT_WIDTH = 160 / 25.4 * 72  # of the text, 160 mm in points of PDF: a wider figure is scaled, and its type with it
TOLERANCE = 1.0  # points by which a box or a figure may exceed its width
RESOLUTION = 30  # dots per inch at which pages are rendered
INK_THRESHOLD = 200  # of 255: darker pixels are ink, lighter ones a watermark
MARGIN = 28 / 297  # of the page's height, at the top and the bottom, where the page number is
HEADING = re.compile(r"\s*\d+\s+\S")  # a page that begins with a heading follows the end of a chapter


def faults(folder, max_pages=None):
    """Sentences about the faults of the document FOLDER/NAME.pdf, where NAME is the folder's name; none without faults.

    `max_pages` is the number of pages allowed. Raises LadderError without the document, or without poppler.
    """
    folder = Path(folder)
    pdf, log, outline = (folder / f"{folder.name}.{suffix}" for suffix in ("pdf", "log", "out"))
    if missing := [path for path in (pdf, log) if not path.exists()]:
        raise LadderError(f"There is no {missing[0]}: run `snakemake paper` first.")
    if shutil.which("pdftoppm") is None:
        raise LadderError("Proofreading needs poppler. On Debian: apt-get install poppler-utils.")
    sentences = [*log_faults(log.read_text(errors="replace")), *figure_faults(sorted(folder.glob("figures/*.pdf")))]
    properties, shares = run_poppler("pdfinfo", pdf), filled_shares(pdf)
    if not re.search(r"(?m)^Title: +\S", properties):
        sentences.append("The document has no title.")
    if not outline.exists() or not outline.read_text(encoding="utf-8").strip():
        sentences.append("The document has no outline.")
    if max_pages and len(shares) > max_pages:
        sentences.append(f"The document has {len(shares)} pages; at most {max_pages} are allowed.")
    texts = run_poppler("pdftotext", "-layout", pdf, "-").split("\f")
    return sentences + [
        f"Page {number} is filled to {100 * share:.0f} % only."
        for number, (share, following) in enumerate(zip(shares[:-1], texts[1:], strict=False), 1)
        if share < 0.5 and not HEADING.match(following)
    ]


def log_faults(log):
    """Faults that LaTeX reports: boxes and floats that are too large, and undefined references."""
    for axis, points in re.findall(r"Overfull \\([hv])box \((\d+\.?\d*)pt", log):
        if float(points) > TOLERANCE:
            yield f"A box is {points} points too {'wide' if axis == 'h' else 'high'}."
    for points in re.findall(r"Float too large for page by (\d+\.?\d*)pt", log):
        yield f"A float is {points} points too high for a page."
    for name in re.findall(r"Reference `(\S+)' .*undefined", log):
        yield f"The reference {name} is undefined."


def figure_faults(paths):
    """Figures wider than the text, which are scaled."""
    for path in paths:
        width = float(re.search(r"Page size: +([\d.]+)", run_poppler("pdfinfo", path))[1])
        if width > TEXT_WIDTH + TOLERANCE:
            yield f"{path.name} is {width:.0f} points wide and the text {TEXT_WIDTH:.0f}: its type is scaled."


def filled_shares(pdf):
    """For each page of a PDF the height down to its last ink, as a share of the text's height."""
    shares = []
    rest = processes.run(["pdftoppm", "-gray", "-r", str(RESOLUTION), pdf], capture_output=True, check=True).stdout
    while rest:
        header = re.match(rb"P5\s+(\d+)\s+(\d+)\s+255\s", rest)
        width, height = int(header[1]), int(header[2])
        page, rest = rest[header.end() :][: width * height], rest[header.end() + width * height :]
        first, last = int(MARGIN * height), int((1 - MARGIN) * height)
        inked = np.flatnonzero(
            (np.frombuffer(page, np.uint8).reshape(height, width)[first:last] < INK_THRESHOLD).any(axis=1)
        )
        shares.append((inked[-1] + 1) / (last - first) if len(inked) else 0.0)
    return shares


def run_poppler(*command):
    """The output of a program of poppler's. Raises LadderError with its error message if it fails."""
    process = programs.run(*map(str, command))
    if process.returncode:
        raise LadderError(f"`{' '.join(map(str, command))}` fails: {process.stderr.strip()}")
    return process.stdout
