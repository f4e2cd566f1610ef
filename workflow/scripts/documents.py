"""Copy the page of results and the paper of the published machines to `docs/`, where readers find them (`make site`).

`docs/site.json` has a digest of what they are made of, and one of each file. A test fails if one of them differs.
"""

import hashlib
import json
import shutil
from pathlib import Path

from ladder.catalogue import sources
from ladder.report import figures
from ladder.workflow import page, paper

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
NOTE_PATH = DOCS / "site.json"
NAMES = [Path(path).name for path in (page.FILE, *page.DOCUMENT_FILES)]
# What the tables and the texts are made from, besides code.
INPUTS = ("results/published/**/*.*", "config/config.yaml", "paper/*")
# The verbs that lead from published measurements to the documents; the code of `paper` is that of typesetting.
# VERBS_WITH_CHAPTERS also run code of all chapters.
VERBS = ("collect", "roofs", "sensitivity")
VERBS_WITH_CHAPTERS = ("numbers", "tables", "overview", "paper")


def inputs_digest():
    """A digest of everything that page and documents are made of: measurements, configuration, texts and code."""
    paths = sorted(path for pattern in INPUTS for path in ROOT.glob(pattern) if path.is_file())
    parts = [f"{path.relative_to(ROOT)} {file_digest(path)}" for path in paths]
    parts += [sources.digest(f"ladder.verbs.{verb}") for verb in VERBS]
    parts += [paper.code_fingerprint(verb) for verb in VERBS_WITH_CHAPTERS]
    parts += [figures.fingerprint(name) for name in figures.names()]
    parts += [paper.chapters_fingerprint(), page.fingerprint()]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def file_digest(path):
    """The digest of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def note():
    """What `docs/site.json` must say: {inputs, files: {name: digest}}."""
    return {"inputs": inputs_digest(), "files": {name: file_digest(DOCS / name) for name in NAMES}}


def main():
    for name in NAMES:
        shutil.copyfile(ROOT / page.FOLDER / name, DOCS / name)
    NOTE_PATH.write_text(json.dumps(note(), indent=1) + "\n")


if __name__ == "__main__":
    main()
