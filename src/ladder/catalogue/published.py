"""Published artefacts, which were made once, on a machine with a GPU, and are committed with their SHA-256 sums.

A study unpacks a published artefact instead of making it. In results/published/artefacts/<workload>/ lie

    <file>.xz        the compressed artefact
    <file>.sha256    the sum of the artefact, in the format of `sha256sum`
    <file>.json      the commit, the GPUs and the libraries that made it
"""

import hashlib
import json
import lzma
from pathlib import Path

from ladder.catalogue import workloads
from ladder.errors import LadderError
from ladder.machine import description, nvidia, revision
from ladder.records.files import write_atomically

FOLDER = "results/published/artefacts"
# LZMA's literals and positions are aligned to four bytes, since most published artefacts hold 32-bit numbers.
FILTERS = [{"id": lzma.FILTER_LZMA2, "preset": 9 | lzma.PRESET_EXTREME, "lc": 1, "lp": 2, "pb": 2}]


def packed(workload: str, file: Path | str) -> Path:
    """The path of the compressed artefact, whether or not it exists."""
    return Path(FOLDER, workload, f"{file}.xz")


def sum_path(workload: str, file: Path | str) -> Path:
    """The path of a published artefact's sum."""
    return Path(FOLDER, workload, f"{file}.sha256")


def about_path(workload: str, file: Path | str) -> Path:
    """The path of a published artefact's provenance."""
    return Path(FOLDER, workload, f"{file}.json")


def sum_of(workload: str, file: Path | str) -> str | None:
    """The sum of a published artefact from its .sha256, or "nothing" if that is unreadable; None if unpublished."""
    if not packed(workload, file).is_file():
        return None
    try:
        return sum_path(workload, file).read_text(encoding="utf-8").split()[0]
    except (OSError, IndexError, UnicodeDecodeError):
        return "nothing"


def unpack(workload: str, file: Path | str, out: Path | str) -> None:
    """Unpack a published artefact to the path `out` after checking its sum. Raises LadderError if that fails."""
    path, expected = packed(workload, file), sum_of(workload, file)
    if expected is None:
        raise LadderError(f"{path} doesn't exist: {workload}/{file} is not published.")
    try:
        contents = lzma.decompress(path.read_bytes())
    except (OSError, lzma.LZMAError) as error:
        raise LadderError(f"{path} can't be unpacked ({error}): restore it, or rebuild {file}.") from None
    if (actual := hashlib.sha256(contents).hexdigest()) != expected:
        raise LadderError(
            f"The unpacked {path} has the SHA-256 sum {actual}, but {sum_path(workload, file)} says {expected}: "
            f"restore both, or rebuild {file}."
        )
    write_atomically(out, contents)


def publish(workload: str, file: Path | str, path: Path | str) -> None:
    """Publish the artefact at a path, which was made on this machine; replace one that was published before."""
    contents = Path(path).read_bytes()
    gpus = [gpu["name"] for gpu in nvidia.gpus()]
    provenance = {
        "source": revision.of_files([workloads.require_workload(workload)]),
        "cards": gpus,
        "libraries": description.versions(),
    }
    write_atomically(packed(workload, file), lzma.compress(contents, filters=FILTERS))
    write_atomically(sum_path(workload, file), f"{hashlib.sha256(contents).hexdigest()}  {file}\n")
    write_atomically(about_path(workload, file), json.dumps(provenance, indent=1) + "\n")
