"""Fingerprints and lists of files that `imports` computes, cached on disk until any file of the code changes.

When Snakemake starts, it needs about a hundred fingerprints, and each job needs one. Computing them takes seconds;
reading all files of the code to see that none has changed takes hundredths of a second. Each entry is a separate file,
so that concurrent processes needn't wait for each other; the folder's name is the digest of the code.
"""

import contextlib
import functools
import hashlib
import json
import os
import shutil
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from ladder.catalogue import imports, locations
from ladder.errors import LadderError
from ladder.records import files

# Nothing is cached outside of a study's folder, which holds `results`.
FOLDER = Path("results/cache/code")
MAX_FILE_BYTES = 2**20  # larger files aren't code


def get_or_compute(key: list[str], compute: Callable[[], tuple[Any, Iterable[Path]]]) -> Any:
    """The value that is cached for a key; otherwise compute and cache it.

    `compute()` returns the value, a JSON value, and the files that it depends on. The value isn't cached if one of
    these files isn't part of the code, or has changed since this process read the code.
    """
    if not FOLDER.parents[1].is_dir():
        return compute()[0]
    path = entry_path(key)
    with contextlib.suppress(LadderError):  # the entry is missing or truncated
        entry = files.read_json(path, "key", "value")
        if entry["key"] == key:
            return entry["value"]
    value, dependencies = compute()
    with contextlib.suppress(LadderError, OSError):  # the folder can't be written, or a file has been deleted
        if all(file_digests().get(dependency) == digest(dependency) for dependency in dependencies):
            store(path, {"key": key, "value": value})
    return value


def store(path: Path, entry: Mapping[str, Any]) -> None:
    """Write an entry; the first entry after a change of the code deletes all earlier ones."""
    if not path.parent.is_dir():
        shutil.rmtree(FOLDER, ignore_errors=True)
    files.write_atomically(path, json.dumps(entry))


def entry_path(key: list[str]) -> Path:
    name = hashlib.sha256(json.dumps(key).encode()).hexdigest()[:16]
    return FOLDER / code_digest() / f"{name}.json"


@functools.cache
def code_digest() -> str:
    """A digest of all files of the code, of the folders that hold workloads and of Python's version."""
    texts = [
        sys.version,
        *map(str, locations.roots()),
        *(f"{path} {file_digest}" for path, file_digest in file_digests().items()),
    ]
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()[:16]


@functools.cache
def file_digests() -> dict[Path, str]:
    """The digests of the code's files, {path: digest}: the package `ladder` and all folders of workloads."""
    workload_folders = [folder for root in locations.roots() for folder in root.glob("*") if may_hold_code(folder)]
    paths = {path for folder in (imports.PACKAGE, *workload_folders) for path in folder.rglob("*") if may_be_code(path)}
    return {path: digest(path) for path in sorted(paths)}


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def may_hold_code(folder: Path) -> bool:
    """Whether a folder may hold a workload or headers. Other subfolders of a user's folder are skipped."""
    return folder.name == "include" or any(folder.glob("*.py"))


def may_be_code(path: Path) -> bool:
    """Whether a file may be code: readable, not compiled by Python, and smaller than MAX_FILE_BYTES."""
    is_readable = path.is_file() and os.access(path, os.R_OK)
    return is_readable and path.parent.name != "__pycache__" and path.stat().st_size < MAX_FILE_BYTES
