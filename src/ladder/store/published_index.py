"""The files that explain the published measurements: `README.md` and `datapackage.json`."""

from pathlib import Path

from ladder.errors import LadderError
from ladder.records.files import write_atomically
from ladder.store import data_package, headers, published_readme

COMMAND = "ladder package"  # the command that writes them


def contents(root: Path = data_package.PUBLISHED_FOLDER) -> dict[str, str]:
    """{name of a file: its text} for the published folders below `root`. Raises LadderError."""
    package = data_package.package(root)
    return {data_package.FILE_NAME: data_package.to_json(package), "README.md": published_readme.render(package)}


def write(root: Path = data_package.PUBLISHED_FOLDER) -> None:
    """Write the files into `root`, and complete the headers of its tables.

    Raises LadderError if nothing is published there, or a table can't be read.
    """
    if not data_package.folders(root):
        raise LadderError(f"Nothing is published below {root}: name the folder that holds the machines' folders.")
    for folder in data_package.folders(root):
        headers.complete_published(folder)
    for name, text in contents(root).items():
        write_atomically(Path(root) / name, text)
