"""The page of results: its pictures, its links, and the code that it is made from."""

from ladder.site import templates
from ladder.workflow import paper

FOLDER = "results/site"
FILE = f"{FOLDER}/index.html"
DOCUMENTS = [f"{FOLDER}/{document}.pdf" for document in paper.DOCUMENTS]


class Page:
    """What the page shows and links: the PNG files `pictures` of the figures that show an artefact.

    `options` are the command-line options that name these files and the documents.
    """

    def __init__(self, figures):
        names = [name for name in figures.names if figures.constants[name]["USES_ARTEFACTS"]]
        self.pictures = [f"results/figures/{name}.png" for name in names]
        self.options = [f"--picture={name}={path}" for name, path in zip(names, self.pictures, strict=True)]
        self.options += [f"--document={document}={document}.pdf" for document in paper.DOCUMENTS]


def fingerprint():
    """A digest of the code and the templates of the page."""
    return f"{paper.code_of('site')} {templates.digest()}"
