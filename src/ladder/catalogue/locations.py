"""Where workloads and variants are: the project's folder, and folders of users.

LADDER_VARIANTS names users' folders, separated by ':', with the layout of the project's: `<folder>/<workload>/` has
`<variant>.py` for a variant of one of the project's workloads, or a whole workload with an `__init__.py`.
"""

import functools
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from ladder.catalogue import literals
from ladder.errors import LadderError
from ladder.records.files import abbreviate, require_utf8

WORKLOADS = Path(__file__).parents[1] / "workloads"
# The files that are read as text, below a folder of workloads.
TEXT_FILE_PATTERNS = [f"*/*.{suffix}" for suffix in ("py", "c", "h", "cu", "cuh")] + [
    f"*/paper/*.{suffix}" for suffix in ("py", "tex", "bib")
]


def roots() -> list[Path]:
    """The folders that hold workloads, the project's first."""
    return [WORKLOADS, *split_folders(os.environ.get("LADDER_VARIANTS", ""))]


@functools.cache
def split_folders(folders: str) -> list[Path]:
    """The absolute folders in a text, separated by ':'. Raises LadderError if one doesn't exist."""
    paths = [expand_home(folder) for folder in folders.split(":") if folder]
    for folder in paths:
        require_folder(folder)
    # Absolute, as in Python's tracebacks, in which a mistake's file is looked for.
    return [Path(os.path.abspath(folder)) for folder in paths]  # noqa: PTH100, without `..`, unlike Path.absolute


def require_folder(folder: Path | str) -> None:
    """Refuse a folder of the user's that doesn't exist or whose path isn't UTF-8."""
    if not os.path.isdir(folder):  # noqa: PTH112, Path.is_dir raises for a name of 3,000 characters
        raise LadderError(f"There is no folder {abbreviate(folder)}, which `variant_folders` or LADDER_VARIANTS names.")
    require_utf8(folder)


def expand_home(path: Path | str) -> Path:
    """A path with `~` replaced by the user's home; `~name` of an unknown user remains."""
    return Path(os.path.expanduser(path))  # noqa: PTH111, Path.expanduser raises RuntimeError


def folders(workload: str) -> list[Path]:
    """The folders that may hold modules of a workload, the project's first."""
    return [root / workload for root in roots()]


def set_variant_folders(folders: Iterable[Path | str]) -> None:
    """Search these folders for variants and workloads too, in this process and its child processes."""
    # By realpath, since Path.resolve raises for a name of 3,000 characters and for a link to itself.
    paths = [os.path.realpath(expand_home(folder)) for folder in folders]
    for folder in paths:
        require_folder(folder)
    os.environ["LADDER_VARIANTS"] = ":".join(paths)
    require_utf8_files()


def require_utf8_files() -> None:
    """Refuse sources and texts that aren't UTF-8; a later error wouldn't name the file."""
    for path in (path for root in roots() for pattern in TEXT_FILE_PATTERNS for path in modules(root, pattern)):
        try:
            path.read_text(encoding="utf-8")
        except UnicodeDecodeError as error:
            raise LadderError(f"{path} isn't text in UTF-8 ({error}): save it in that encoding.") from None


def modules(folder: Path, pattern: str) -> Iterator[Path]:
    """A folder's files that match a pattern, without folders and the dangling links by which editors lock files."""
    return filter(Path.is_file, folder.glob(pattern))


def problem_path(workload: str) -> Path | None:
    """The file that defines a workload's problem, the `__init__.py` that assigns SIZES; None if there is none."""
    path = module_path(workload, "__init__")
    return path if path and literals.assigns(path, "SIZES") else None


def require_distinct(workload: str, name: str) -> None:
    """Refuse a module that several folders have: only the first one's would count. Raises LadderError."""
    paths = [
        path for folder in folders(workload) for path in modules(folder, f"{name}.py") if literals.statements(path)
    ]
    if len(paths) > 1:
        raise LadderError(
            f"{paths[0]} and {paths[1]} have the same name, so that only the first would count: rename one."
        )


def module_path(workload: str, name: str) -> Path | None:
    """The file of a module in a workload's folders, or None."""
    return next(filter(os.path.isfile, (folder / f"{name}.py" for folder in folders(workload))), None)
