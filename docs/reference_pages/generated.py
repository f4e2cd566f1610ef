"""Insert what is made from the code into a page, in place of a comment such as `<!-- generated: verbs -->`.

A line in italics before the comment, for readers of the Markdown, is replaced too.
"""

import importlib
import re

MARK = re.compile(r"^(?:\*.*\*\n\n)?<!-- generated: (\w+) -->$", re.MULTILINE)


def insert(app, name, source):
    """Replace the marks of a page that Sphinx reads; `source` is a list with its text."""
    source[0] = MARK.sub(lambda match: page(match[1]), source[0])


def page(name):
    """The Markdown that a module of this package makes."""
    return importlib.import_module(f"reference_pages.{name}").page()
