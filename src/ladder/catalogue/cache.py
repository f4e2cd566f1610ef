"""Results of walks along the code, cached on disk until any file of the code changes.

A start of Snakemake needs some hundred fingerprints, and each job its own. Computing them takes seconds; reading all
files of the code to see that they are unchanged takes hundredths. Each entry is a file of its own, so that concurrent
processes need not wait for each other; the folder's name is the digest of the code.
"""

import contextlib
import functools
import hashlib
import json
import os
import shutil
import sys
from pathlib import Path

from ladder.catalogue import imports, workloads
from ladder.errors import LadderError
from ladder.records import files

# Outside of a study, which has the folder `results`, nothing is cached.
FOLDER = Path("results/cache/code")
MAX_SIZE = 2**20  # bytes


def get_or_compute(key, compute):
    """The cached value of a key, else that of `compute()`, a pair of a JSON value and the files that it depends on.

    A value is not cached if it depends on a file that isn't part of the code, or that has changed since the code was
    read.
    """
    if not FOLDER.parents[1].is_dir():
        return compute()[0]
    path = entry_path(key)
    with contextlib.suppress(LadderError):  # missing, torn, or of another key
        entry = files.read_json(path, "key", "value")
        if entry["key"] == key:
            return entry["value"]
    value, dependencies = compute()
    with contextlib.suppress(LadderError, OSError):  # a folder that can't be written, a file that has been deleted
        if all(file_digests().get(dependency) == digest(dependency) for dependency in dependencies):
            store(path, {"key": key, "value": value})
    return value


def store(path, entry):
    """Write an entry; the first one of a new state of the code deletes those of earlier states."""
    if not path.parent.is_dir():
        shutil.rmtree(FOLDER, ignore_errors=True)
    files.write_atomically(path, json.dumps(entry))


def entry_path(key):
    name = hashlib.sha256(json.dumps(key).encode()).hexdigest()[:16]
    return FOLDER / code_digest() / f"{name}.json"


@functools.cache
def code_digest():
    """The digest of all files of the code, of the folders searched and of Python's version."""
    parts = [
        sys.version,
        *map(str, workloads.roots()),
        *(f"{path} {digest}" for path, digest in file_digests().items()),
    ]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


@functools.cache
def file_digests():
    """The digests of the files that a walk may reach, {path: digest}: ladder's own and those of users' workloads."""
    user_folders = [folder for root in workloads.roots() for folder in root.glob("*") if holds_code(folder)]
    paths = {path for folder in (imports.HOME, *user_folders) for path in folder.rglob("*") if is_code(path)}
    return {path: digest(path) for path in sorted(paths)}


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def holds_code(folder):
    """Whether a folder may be that of a workload or of headers: a user's folder may hold anything else."""
    return folder.name == "include" or any(folder.glob("*.py"))


def is_code(path):
    """Whether a file may be code, by its size too: nobody writes a source of a megabyte."""
    is_readable = path.is_file() and os.access(path, os.R_OK)
    return is_readable and path.parent.name != "__pycache__" and path.stat().st_size < MAX_SIZE
