"""Links from pages to files that aren't pages, such as the page of results: each is copied to the same place."""

import shutil
from pathlib import Path

from docutils import nodes
from sphinx import addnodes
from sphinx.transforms import SphinxTransform
from sphinx.util.osutil import relative_uri

REDIRECTION = '<!doctype html><meta charset="utf-8"><title>{0}</title><meta http-equiv="refresh" content="0; url={1}">'


class LinkToFiles(SphinxTransform):
    """Replace the downloads that MyST makes of such links, which would be copied under another name."""

    default_priority = 500

    def apply(self):
        for node in list(self.document.findall(addnodes.download_reference)):
            path = self.env.relfn2path(node["reftarget"])[0]
            copy(Path(self.env.srcdir), Path(self.app.outdir), path)
            reference = nodes.reference("", "", *node.children, refuri=relative_uri(self.env.docname, path))
            node.replace_self(reference)


def copy(source, target, path):
    """Copy a file of one folder into another."""
    (target / path).parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source / path, target / path)


def write_start_page(app, error):
    """An index.html that leads to the start page; the folder `docs` has another one, the page of results."""
    if not error:
        text = REDIRECTION.format(app.config.html_title, f"{app.config.root_doc}.html")
        (Path(app.outdir) / "index.html").write_text(text, encoding="utf-8")
