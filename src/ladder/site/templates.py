"""The files of the page in `templates/`: HTML rendered by Jinja, the style, and the scripts."""

import hashlib
from pathlib import Path

FOLDER = Path(__file__).with_name("templates")


def read(name):
    """The text of a template."""
    return (FOLDER / name).read_text(encoding="utf-8")


def digest():
    """A digest of all templates, on which the page depends besides code."""
    contents = b"".join(path.read_bytes() for path in sorted(FOLDER.iterdir()))
    return hashlib.sha256(contents).hexdigest()[:16]
