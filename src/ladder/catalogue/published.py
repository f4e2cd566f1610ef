"""Artefacts that were published: made once, where a GPU was, and committed, compressed, with their sha256.

    results/published/artefacts/<workload>/<file>.xz, and beside it <file>.sha256 as `sha256sum` writes and reads it,
    and <file>.json, which says of what commit and by what cards and libraries it was made

What is published is unpacked in place of being made.
"""

import hashlib
import json
import lzma
from pathlib import Path

from ladder.errors import LadderError
from ladder.machine import description, nvidia, revision
from ladder.records.files import write_atomically

FOLDER = "results/published/artefacts"
# Literals and positions by four bytes: most of what is published is of 32-bit numbers.
FILTERS = [{"id": lzma.FILTER_LZMA2, "preset": 9 | lzma.PRESET_EXTREME, "lc": 1, "lp": 2, "pb": 2}]


def packed(workload, file):
    """The path of the compressed artefact, whether it is there or not."""
    return Path(FOLDER, workload, f"{file}.xz")


def sum_path(workload, file):
    """The path of its sha256."""
    return Path(FOLDER, workload, f"{file}.sha256")


def about_path(workload, file):
    """The path of what is said of its making."""
    return Path(FOLDER, workload, f"{file}.json")


def sum_of(workload, file):
    """The sha256 of a published artefact as its sum file has it, or "nothing"; None where it isn't published."""
    if not packed(workload, file).is_file():
        return None
    try:
        return sum_path(workload, file).read_text(encoding="utf-8").split()[0]
    except (OSError, IndexError, UnicodeDecodeError):
        return "nothing"


def unpack(workload, file, out):
    """Write a published artefact to `out` after its sha256 was checked. Raises LadderError where it can't be."""
    path, due = packed(workload, file), sum_of(workload, file)
    if due is None:
        raise LadderError(f"{path} isn't there: nothing is published of {workload}/{file}.")
    try:
        contents = lzma.decompress(path.read_bytes())
    except (OSError, lzma.LZMAError) as error:
        raise LadderError(f"{path} can't be unpacked ({error}): restore it, or make {file} anew.") from None
    if (found := hashlib.sha256(contents).hexdigest()) != due:
        raise LadderError(
            f"What {path} holds has the sha256 {found}, where {sum_path(workload, file)} says {due}: "
            f"restore both, or make {file} anew."
        )
    write_atomically(out, contents)


def publish(workload, file, path):
    """Publish the artefact that lies at a path and was made here, in place of what was published."""
    contents = Path(path).read_bytes()
    cards = [card["name"] for card in nvidia.gpus()]
    about = {"source": revision.current(), "cards": cards, "libraries": description.versions()}
    write_atomically(packed(workload, file), lzma.compress(contents, filters=FILTERS))
    write_atomically(sum_path(workload, file), f"{hashlib.sha256(contents).hexdigest()}  {file}\n")
    write_atomically(about_path(workload, file), json.dumps(about, indent=1) + "\n")
