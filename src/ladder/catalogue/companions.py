"""The sources in other languages that belong to a module of a workload, and the headers that they include.

A header is looked for beside the source that includes it, then in the folders `include` beside the workloads, the
project's and users'.
"""

import functools
import hashlib
import re

from ladder.catalogue import literals, workloads

INCLUDED = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)
COMMENT = re.compile(r"//.*|/\*[\s\S]*?\*/")


class Companion:
    """A source or header: its digest goes by its text without comments."""

    def __init__(self, path):
        self.path = path
        words = COMMENT.sub(" ", path.read_text(encoding="utf-8")).split()
        self.own = self.digest = hashlib.sha256(" ".join(words).encode()).hexdigest()

    @functools.cached_property
    def references(self):
        """The headers that it includes; those of the compiler are none of ours."""
        folders = [self.path.parent, *include_folders()]
        found = (
            [path for folder in folders if (path := folder / name).is_file()]
            for name in INCLUDED.findall(self.path.read_text(encoding="utf-8"))
        )
        return [read(paths[0]) for paths in found if paths]


@functools.cache
def read(path):
    return Companion(path)


def include_folders():
    """The folders of headers that workloads share."""
    return [folder for folder in workloads.folders("include") if folder.is_dir()]


def of(path):
    """The Companions of a module: the files of its name that aren't Python's, and its SOURCE."""
    found = {one for one in path.parent.glob(f"{path.stem}.*") if one.suffix[:3] != ".py"}
    source = literals.read(path).get("SOURCE")
    if isinstance(source, str) and (named := path.with_name(source)).is_file():
        found.add(named)
    return [read(one) for one in sorted(found)]
