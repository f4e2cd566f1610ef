"""What walks along the code found, kept on disk for as long as no file of the code changes.

A start of Snakemake asks for some hundred fingerprints, and each job for its own: to walk for them takes seconds, to
read all files of the code and see that they are the same takes hundredths. Each answer is a file of its own, so that
processes side by side need not wait for each other; the folder's name is the digest of the code.
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

# Whoever works without a study, which has the folder `results`, keeps nothing.
FOLDER = Path("results/cache/code")
LARGEST = 2**20  # bytes


def recall(question, walk):
    """The answer of `walk()`, a pair of something for JSON and the files that it rests on, or the same from the disk.

    Not kept is what rests on a file which isn't among those of the code, or has changed since these were read.
    """
    if not FOLDER.parents[1].is_dir():
        return walk()[0]
    path = answer_path(question)
    with contextlib.suppress(LadderError):  # not there, torn, or of another question
        found = files.read_json(path, "question", "answer")
        if found["question"] == question:
            return found["answer"]
    answer, rests_on = walk()
    with contextlib.suppress(LadderError, OSError):  # a folder that can't be written, a file that is gone
        if all(code().get(path) == digest(path) for path in rests_on):
            keep(path, {"question": question, "answer": answer})
    return answer


def keep(path, entry):
    """Write an answer; the first of a new state of the code drops those of the states before."""
    if not path.parent.is_dir():
        shutil.rmtree(FOLDER, ignore_errors=True)
    files.write_atomically(path, json.dumps(entry))


def answer_path(question):
    name = hashlib.sha256(json.dumps(question).encode()).hexdigest()[:16]
    return FOLDER / state() / f"{name}.json"


@functools.cache
def state():
    """The digest of all files of the code, and of what reads them."""
    parts = [sys.version, *map(str, workloads.roots()), *(f"{path} {digest}" for path, digest in code().items())]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


@functools.cache
def code():
    """The digests of the files that walks may come by: {path: digest}, ladder's own and those of users' workloads."""
    own = [folder for root in workloads.roots() for folder in root.glob("*") if holds_code(folder)]
    paths = {path for folder in (imports.HOME, *own) for path in folder.rglob("*") if is_code(path)}
    return {path: digest(path) for path in sorted(paths)}


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def holds_code(folder):
    """Whether a folder may be that of a workload or of headers: a user's folder may hold anything besides."""
    return folder.name == "include" or any(folder.glob("*.py"))


def is_code(path):
    """Whether a file may be code, by its size too: nobody writes a source of a megabyte."""
    is_readable = path.is_file() and os.access(path, os.R_OK)
    return is_readable and path.parent.name != "__pycache__" and path.stat().st_size < LARGEST
