"""The revision of the source: its commit, and whether it was changed since."""

import os
from pathlib import Path

from ladder.machine.programs import output

DIRTY = "-dirty"


def current():
    """The source's commit and whether it was changed since: {commit, dirty}.

    LADDER_COMMIT gives it to a copy of the sources without their history.
    """
    if given := os.environ.get("LADDER_COMMIT"):
        return parse(given)
    here = str(Path(__file__).parent)
    found = output("git", "-C", here, "rev-parse", "HEAD").strip()
    dirty = output("git", "-C", here, "status", "--porcelain", "--untracked-files=no").strip()
    return {"commit": found or "unknown", "dirty": bool(dirty)}


def format(revision):
    """The commit of a revision, ending in `-dirty` where it was changed since."""
    return revision["commit"] + (DIRTY if revision["dirty"] else "")


def parse(text):
    """The revision, {commit, dirty}, of which `format` makes this text."""
    return {"commit": text.removesuffix(DIRTY), "dirty": text.endswith(DIRTY)}
