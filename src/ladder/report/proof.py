"""Proofreading of a typeset document: what its log and its pages say of the layout, as sentences.

It needs pdfinfo, pdftotext and pdftoppm, which Debian's poppler-utils has.
"""

import re
import shutil
from pathlib import Path

import numpy as np

from ladder.errors import LadderError
from ladder.machine import processes, programs

WIDTH = 160 / 25.4 * 72  # of the text, in points of PDF: a wider figure is scaled, and its type with it
SLACK = 1.0  # points by which a box may stand out
RESOLUTION = 30  # dots per inch of the pages that are looked at
DARK = 200  # of 255: below it is ink, above it a watermark
MARGIN = 28 / 297  # of the page's height, above and below: the page's number stands there
HEADING = re.compile(r"\s*\d+\s+\S")  # a page that begins with one follows the end of a chapter


def faults(folder, max_pages=None):
    """Sentences on what is wrong with the document typeset in a folder, which has its name; none if all is well.

    `max_pages` is the number of pages allowed. Raises LadderError without such a document, or without poppler.
    """
    folder = Path(folder)
    pdf, log, outline = (folder / f"{folder.name}.{suffix}" for suffix in ("pdf", "log", "out"))
    if missing := [path for path in (pdf, log) if not path.exists()]:
        raise LadderError(f"There is no {missing[0]}: run `snakemake paper` first.")
    if shutil.which("pdftoppm") is None:
        raise LadderError("Proofreading needs poppler. On Debian: apt-get install poppler-utils.")
    complaints = [*of_log(log.read_text(errors="replace")), *of_figures(sorted(folder.glob("figures/*.pdf")))]
    about, pages = output("pdfinfo", pdf), heights(pdf)
    if not re.search(r"(?m)^Title: +\S", about):
        complaints.append("The document has no title.")
    if not outline.exists() or not outline.read_text(encoding="utf-8").strip():
        complaints.append("The document has no outline.")
    if max_pages and len(pages) > max_pages:
        complaints.append(f"The document has {len(pages)} pages, {max_pages} at most are wanted.")
    texts = output("pdftotext", "-layout", pdf, "-").split("\f")
    return complaints + [
        f"Page {number} is filled to {100 * height:.0f} % only."
        for number, (height, following) in enumerate(zip(pages[:-1], texts[1:], strict=False), 1)
        if height < 0.5 and not HEADING.match(following)
    ]


def of_log(log):
    """What LaTeX says of boxes, floats and references."""
    for axis, points in re.findall(r"Overfull \\([hv])box \((\d+\.?\d*)pt", log):
        if float(points) > SLACK:
            yield f"A box is {points} points too {'wide' if axis == 'h' else 'high'}."
    for points in re.findall(r"Float too large for page by (\d+\.?\d*)pt", log):
        yield f"A float is {points} points too high for a page."
    for name in re.findall(r"Reference `(\S+)' .*undefined", log):
        yield f"{name} is defined nowhere."


def of_figures(paths):
    """Figures wider than the text, which are scaled."""
    for path in paths:
        width = float(re.search(r"Page size: +([\d.]+)", output("pdfinfo", path))[1])
        if width > WIDTH + SLACK:
            yield f"{path.name} is {width:.0f} points wide, beyond the text's {WIDTH:.0f}: its type is scaled."


def heights(pdf):
    """How far down each page of a PDF is filled, as shares of its text's height."""
    values = []
    rest = processes.run(["pdftoppm", "-gray", "-r", str(RESOLUTION), pdf], capture_output=True, check=True).stdout
    while rest:
        header = re.match(rb"P5\s+(\d+)\s+(\d+)\s+255\s", rest)
        width, height = int(header[1]), int(header[2])
        page, rest = rest[header.end() :][: width * height], rest[header.end() + width * height :]
        first, last = int(MARGIN * height), int((1 - MARGIN) * height)
        inked = np.flatnonzero((np.frombuffer(page, np.uint8).reshape(height, width)[first:last] < DARK).any(axis=1))
        values.append((inked[-1] + 1) / (last - first) if len(inked) else 0.0)
    return values


def output(*command):
    """What a program of poppler's prints. Raises LadderError with its words when it fails."""
    done = programs.run(*map(str, command))
    if done.returncode:
        raise LadderError(f"`{' '.join(map(str, command))}` fails: {done.stderr.strip()}")
    return done.stdout
