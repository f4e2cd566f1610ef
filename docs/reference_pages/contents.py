"""The contents of the documentation: an overview, a README.md of `docs/`, contains the pages that it links to."""

import posixpath
import re

HEADING = re.compile(r"^## (.+)$", re.MULTILINE)
LINK = re.compile(r"\[([^\]]+)\]\(([\w./-]+)\.md\)")
OVERVIEW = re.compile(r"docs/(\w+/)*README")


def add(app, name, source):
    """Add the contents, hidden on the page itself, to an overview that Sphinx reads; `source` is a list of its text."""
    if OVERVIEW.fullmatch(name):
        source[0] += "".join(toctree(heading, pages) for heading, pages in sections(source[0]))


def sections(text):
    """[(heading, {page: text of the link})] of an overview, each page in the first section that links to it."""
    first, *others = HEADING.split(text)
    listed = set()
    for heading, body in [("", first), *zip(others[::2], others[1::2], strict=True)]:
        pages = {posixpath.normpath(page): text for text, page in LINK.findall(body)}
        pages = {page: " ".join(text.split()) for page, text in pages.items() if page not in listed}
        listed.update(pages)
        if pages:
            yield heading, pages


def toctree(heading, pages):
    """Sphinx's directive for a section's pages, {page: title}."""
    options = [":hidden:", f":caption: {heading}"] if heading else [":hidden:"]
    entries = [f"{title[0].upper()}{title[1:]} <{page}>" for page, title in pages.items()]
    return "\n".join(["", "```{toctree}", *options, "", *entries, "```", ""])
