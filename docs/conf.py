"""The configuration of Sphinx, which `make docs` runs on the project's Markdown files where they are.

So a link between two of them works on GitHub and on the built pages alike. The reference pages get their tables here,
from the code (`reference_pages`).
"""

import sys
from pathlib import Path

DOCS = Path(__file__).parent
sys.path.insert(0, str(DOCS))

from reference_pages import contents, files, generated  # noqa: E402

project = "ladder"
copyright = "the ladder authors"
extensions = ["myst_parser"]
include_patterns = ["*.md", "config/README.md", "docs/*.md", "docs/**/*.md", "results/published/README.md"]
# Folders without pages, which needn't be searched.
exclude_patterns = [".*", "src", "tests", "wheelhouse", "results/[!p]*"]
source_suffix = {".md": "markdown"}
root_doc = "docs/README"
myst_heading_anchors = 4

smartquotes = False  # it would make a dash of the `--` of options

html_theme = "furo"
html_title = "ladder"
html_show_sourcelink = False
html_copy_source = False
html_static_path = ["pages.css"]
html_css_files = ["pages.css"]


def setup(app):
    """Complete pages while they are read, and put the files that they link to beside them."""
    app.connect("source-read", generated.insert)
    app.connect("source-read", contents.add)
    app.add_transform(files.LinkToFiles)
    app.connect("build-finished", files.write_start_page)
