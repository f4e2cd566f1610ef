"""The revision of the source: its commit, and whether it was changed since."""

import os
from pathlib import Path

from ladder.machine.programs import output

DIRTY = "-dirty"


def current():
    """The source's commit and whether it was changed since: {commit, dirty}.

    A copy of the sources without their history is told its commit by LADDER_COMMIT.
    """
    if told := os.environ.get("LADDER_COMMIT"):
        return from_text(told)
    here = str(Path(__file__).parent)
    found = output("git", "-C", here, "rev-parse", "HEAD").strip()
    dirty = output("git", "-C", here, "status", "--porcelain", "--untracked-files=no").strip()
    return {"commit": found or "unknown", "dirty": bool(dirty)}


def to_text(source):
    """The commit of a source, ending in `-dirty` where it was changed since."""
    return source["commit"] + (DIRTY if source["dirty"] else "")


def from_text(word):
    """The source, {commit, dirty}, that `to_text` writes so."""
    return {"commit": word.removesuffix(DIRTY), "dirty": word.endswith(DIRTY)}
