"""What is published, and where; artefacts, made once on a machine with a GPU, are committed with their checksums.

Where the project's workflow runs in a user's folder, what isn't published there is taken from the project.
A study unpacks a published artefact instead of making it. In results/published/artefacts/<workload>/ lie

    <file>.xz        the compressed artefact
    <file>.sha256    the checksum of the artefact, in the format of `sha256sum`
    <file>.json      the commit, the GPUs and the libraries that made it
"""

import hashlib
import json
import lzma
import os
from pathlib import Path

from ladder.catalogue import workloads
from ladder.errors import LadderError
from ladder.machine import description, nvidia, revision
from ladder.records.files import write_atomically

PUBLISHED = "results/published"
FOLDER = f"{PUBLISHED}/artefacts"
PROJECT_VARIABLE = "LADDER_PROJECT"  # the project whose workflow this process or its parents run
# LZMA's literals and positions are aligned to four bytes, since most published artefacts hold 32-bit numbers.
FILTERS = [{"id": lzma.FILTER_LZMA2, "preset": 9 | lzma.PRESET_EXTREME, "lc": 1, "lp": 2, "pb": 2}]


def set_project(root: Path | str) -> None:
    """Look for what is published also in the project at `root`, in this process and those that it starts."""
    os.environ[PROJECT_VARIABLE] = str(root)


def folders() -> list[Path]:
    """The folders of what is published, as relative paths: that of the working directory, and that of the project."""
    project = os.environ.get(PROJECT_VARIABLE)
    project_folders = [Path(os.path.relpath(project), PUBLISHED)] if project else []
    return list(dict.fromkeys([Path(PUBLISHED), *project_folders]))


def path_of(name: str) -> Path:
    """The path of what is published under a name, whether or not it exists."""
    paths = [folder / name for folder in folders()]
    return next((path for path in paths if path.exists()), paths[0])


def archive_path(workload: str, file: Path | str) -> Path:
    """The path of the compressed artefact, whether or not it exists."""
    return path_of(f"artefacts/{workload}/{file}.xz")


def checksum_path(workload: str, file: Path | str) -> Path:
    """The path of a published artefact's checksum."""
    return path_of(f"artefacts/{workload}/{file}.sha256")


def checksum_of(workload: str, file: Path | str) -> str | None:
    """The checksum of a published artefact, from its .sha256; None if it isn't published.

    If the .sha256 can't be read, it is "nothing", which no checksum equals.
    """
    if not archive_path(workload, file).is_file():
        return None
    try:
        return checksum_path(workload, file).read_text(encoding="utf-8").split()[0]
    except (OSError, IndexError, UnicodeDecodeError):
        return "nothing"


def unpack(workload: str, file: Path | str, out: Path | str) -> None:
    """Unpack a published artefact to the path `out` after checking its checksum. Raises LadderError if that fails."""
    path, expected = archive_path(workload, file), checksum_of(workload, file)
    if expected is None:
        raise LadderError(f"{path} doesn't exist: {workload}/{file} is not published.")
    try:
        contents = lzma.decompress(path.read_bytes())
    except (OSError, lzma.LZMAError) as error:
        raise LadderError(f"{path} can't be unpacked ({error}): restore it, or rebuild {file}.") from None
    if (actual := hashlib.sha256(contents).hexdigest()) != expected:
        raise LadderError(
            f"The unpacked {path} has the SHA-256 checksum {actual}, but {checksum_path(workload, file)} says "
            f"{expected}: restore both, or rebuild {file}."
        )
    write_atomically(out, contents)


def publish(workload: str, file: Path | str, path: Path | str) -> None:
    """Publish in the working directory the artefact at `path`, made on this machine, replacing an earlier one."""
    folder = Path(FOLDER, workload)
    contents = Path(path).read_bytes()
    gpus = [gpu["name"] for gpu in nvidia.gpus()]
    provenance = {
        "source": revision.of_files([workloads.workload_path(workload)]),
        "cards": gpus,
        "libraries": description.versions(),
    }
    write_atomically(folder / f"{file}.xz", lzma.compress(contents, filters=FILTERS))
    write_atomically(folder / f"{file}.sha256", f"{hashlib.sha256(contents).hexdigest()}  {file}\n")
    write_atomically(folder / f"{file}.json", json.dumps(provenance, indent=1) + "\n")
