"""Pieces of Markdown."""

import re

OUTSIDE_CODE = re.compile(r"<(?=[^`]*(?:`[^`]*`[^`]*)*$)")


def table(head, rows):
    """A table; empty texts and None become a dash, and bars within cells don't end them."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(map(cell, line))} |" for line in lines)


def cell(text):
    """The text of a cell, in one line, in which `<` outside of code begins no HTML."""
    line = " ".join(str("–" if text in (None, "") else text).split())
    return OUTSIDE_CODE.sub("&lt;", line).replace("|", "\\|")


def code(text):
    """Text as code; None and empty text stay empty."""
    return f"`{text}`" if text not in (None, "") else ""


def codes(texts):
    """Several words as code, separated by commas."""
    return ", ".join(map(code, texts))


def block(text, language="text"):
    """A block of code."""
    return f"```{language}\n{text.strip()}\n```"


def document(*parts):
    """Parts, each a paragraph, a table or a heading, separated by empty lines."""
    return "\n\n".join(part.strip() for part in parts if part) + "\n"
