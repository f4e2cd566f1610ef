"""The page of results: its pictures, its links, and the code that it is made from."""

from ladder.site import templates
from ladder.workflow import paper

FOLDER = "results/site"
FILE = f"{FOLDER}/index.html"
DOCUMENT_FILES = [f"{FOLDER}/{document}.pdf" for document in paper.DOCUMENTS]


class Page:
    """What the page shows and links; `figures` are the Figures of this run.

    `pictures` are the PNG files of those figures that show artefacts, files of a workload that a rule makes, such as
    weights: the page draws its own charts from the tables, and the tables have no artefacts. `options` are the
    command-line options of `ladder site` that name these files and the documents.
    """

    def __init__(self, figures):
        names = [name for name in figures.names if figures.constants[name]["USES_ARTEFACTS"]]
        self.pictures = [f"results/figures/{name}.png" for name in names]
        self.options = [f"--picture={name}={path}" for name, path in zip(names, self.pictures, strict=True)]
        self.options += [f"--document={document}={document}.pdf" for document in paper.DOCUMENTS]


def fingerprint():
    """A digest of the code and the templates of the page."""
    return f"{paper.code_fingerprint('site')} {templates.digest()}"
