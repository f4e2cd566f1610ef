"""Native sources: the sources in C, CUDA and other languages that belong to a module of a workload, and their headers.

A header is looked up beside the source that includes it, then in the folder `include` beside the project's workloads,
then in those beside users' workloads.
"""

from __future__ import annotations

import functools
import hashlib
import re
from pathlib import Path

from ladder.catalogue import literals, locations

INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)
COMMENT = re.compile(r"//.*|/\*[\s\S]*?\*/")


class NativeSource:
    """A source or header; its digest is that of its text without comments, in which white space doesn't count.

    Unlike those of a Python definition, `digest` and `local_digest` are the same: neither covers `references`.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        words = COMMENT.sub(" ", path.read_text(encoding="utf-8")).split()
        self.local_digest = self.digest = hashlib.sha256(" ".join(words).encode()).hexdigest()

    @functools.cached_property
    def references(self) -> list[NativeSource]:
        """The headers that it includes with quotation marks, if they exist in the project's or a user's folders."""
        folders = [self.path.parent, *include_folders()]
        candidates = (
            [path for folder in folders if (path := folder / name).is_file()]
            for name in INCLUDE.findall(self.path.read_text(encoding="utf-8"))
        )
        return [read(paths[0]) for paths in candidates if paths]


@functools.cache
def read(path: Path) -> NativeSource:
    return NativeSource(path)


def include_folders() -> list[Path]:
    """The folders of headers that workloads share, the project's first."""
    return [folder for folder in locations.folders("include") if folder.is_dir()]


def of_module(path: Path) -> list[NativeSource]:
    """A NativeSource for each file beside a module of the same name with another suffix, and for its SOURCE."""
    paths = {sibling for sibling in path.parent.glob(f"{path.stem}.*") if sibling.suffix[:3] != ".py"}
    source = literals.read(path).get("SOURCE")
    if isinstance(source, str) and (source_path := path.with_name(source)).is_file():
        paths.add(source_path)
    return list(map(read, sorted(paths)))
