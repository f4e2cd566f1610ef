"""Imports of a user's module that can't succeed: of libraries that aren't installed, or of modules that don't exist.

They are read as text. Only top-level statements count, since those in a `try`, an `if` or a function may never run.
Modules in users' folders that a module imports are searched likewise.
"""

import ast
import importlib.util
from collections.abc import Collection, Iterator
from pathlib import Path

from ladder.catalogue import imports, literals, locations, syntax
from ladder.errors import LadderError, did_you_mean

# Libraries without which a device is skipped.
DEVICE_LIBRARIES = ("cupy", "cupyx", "mpi4py")
PACKAGE_NAME = "ladder"


def require_importable(path: Path, optional: Collection[str] | None = None) -> set[Path]:
    """The files in users' folders that a user's module imports, itself included.

    Raises LadderError if one imports what is missing and not `optional`, the REQUIRES of a variant; None for a module
    that can't have them.
    """
    pending, visited = [path], set()
    while pending:
        file = pending.pop()
        if file in visited:
            continue
        visited.add(file)
        for line, name, members in imports_of(file):
            library = name.partition(".")[0]
            if library == PACKAGE_NAME:
                pending += user_files(file, line, name, members)
            elif library not in {*(optional or ()), *DEVICE_LIBRARIES} and importlib.util.find_spec(library) is None:
                advice = f'; with REQUIRES = ("{library}",) in {path} the variant is skipped where it is missing'
                raise LadderError(
                    f"Line {line} of {file} imports {library!r}, which isn't installed. Install {library}"
                    f"{advice * (optional is not None)}."
                )
    return visited


def imports_of(path: Path) -> Iterator[tuple[int, str, list[str]]]:
    """The top-level imports of a file in a workload's folder: (line, module, names imported from it)."""
    for node in literals.statements(path):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name, []
        elif isinstance(node, ast.ImportFrom):
            yield node.lineno, syntax.import_base(node, package_of(path)), [item.name for item in node.names]


def package_of(path: Path) -> str:
    """The dotted name of the package of a file in a workload's folder."""
    relative_path = next(path.relative_to(root) for root in locations.roots() if path.is_relative_to(root))
    return ".".join([PACKAGE_NAME, "workloads", *relative_path.parent.parts])


def user_files(importer: Path, line: int, name: str, members: list[str]) -> list[Path]:
    """The files in users' folders that an import of ladder's or a user's module reads.

    Raises LadderError if the module doesn't exist.
    """
    path = imports.module_path(name)
    folder = folder_of_package(name)
    if path is None and folder is None:
        parent = folder_of_package(name.rpartition(".")[0])
        known = [module.stem for module in locations.modules(parent, "*.py")] if parent else []
        hint = did_you_mean(name.rpartition(".")[2], known)
        raise LadderError(f"Line {line} of {importer} imports {name}, which doesn't exist.{hint}")
    paths = [path, *(imports.module_path(f"{name}.{member}") for member in members)]
    return [file for file in paths if file and not file.is_relative_to(imports.PACKAGE)]


def folder_of_package(name: str) -> Path | None:
    """The folder of a package of ladder's or of a workload, by its dotted name; None without one."""
    path = imports.module_path(name)
    if path and path.name == "__init__.py":
        return path.parent
    folder = imports.PACKAGE.joinpath(*name.split(".")[1:])
    return folder if folder.is_dir() else None
