"""The contents of the documentation: an overview, a README.md of `docs/`, contains the pages that it links to."""

import posixpath
import re

HEADING = re.compile(r"^## (.+)$", re.MULTILINE)
LINK = re.compile(r"\]\(([\w./-]+)\.md\)")
OVERVIEW = re.compile(r"docs/(\w+/)*README")


def add(app, name, source):
    """Add the contents, hidden on the page itself, to an overview that Sphinx reads; `source` is a list of its text."""
    if OVERVIEW.fullmatch(name):
        source[0] += "".join(toctree(heading, pages) for heading, pages in sections(source[0]))


def sections(text):
    """[(heading, pages)] of an overview, in order, each page in the first section that links to it."""
    first, *others = HEADING.split(text)
    listed = set()
    for heading, body in [("", first), *zip(others[::2], others[1::2], strict=True)]:
        pages = [page for page in dict.fromkeys(map(posixpath.normpath, LINK.findall(body))) if page not in listed]
        listed.update(pages)
        if pages:
            yield heading, pages


def toctree(heading, pages):
    """Sphinx's directive for a section's pages."""
    options = [":hidden:", f":caption: {heading}"] if heading else [":hidden:"]
    return "\n".join(["", "```{toctree}", *options, "", *pages, "```", ""])
