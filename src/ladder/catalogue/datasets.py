"""The data that workloads read, and their artefacts, which are made before anything is timed; both in results/data.

A workload's `data_set(sizes)` names the data that its cases read: "mnist", its offline substitute "digits", or an
artefact, "<workload>/<file>". Its `load_data(path)` loads them, by default as a `ladder.data.dataset.Dataset`.

A workload's folder may have a module `artefacts.py`, for example for a network's weights or for a figure's pictures:

    ARTEFACTS = {"weights.npz": "mnist", ...}   # a literal: each file, and the data that it is made from or None
    def make(name, path, data): ...             # writes the file at `path`; `data` is the path of its input

Snakemake's rule unpacks an artefact that is published (`ladder.catalogue.published`); `ladder artefact` can rebuild it.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from ladder.catalogue import literals, locations, sources, workloads
from ladder.data import dataset
from ladder.errors import LadderError

if TYPE_CHECKING:
    from ladder.data.dataset import Dataset

FOLDER = "results/data"
DATA_SETS = ("mnist", "digits")


def artefacts(workload: str) -> dict[str, str | None]:
    """The artefacts of a workload, {file: the data that it is made from or None}, read without importing it."""
    path = locations.module_path(workload, "artefacts")
    return literals.read(path).get("ARTEFACTS", {}) if path else {}


def is_artefact(name: str) -> bool:
    """Whether the data of this name are an artefact, which may be rebuilt, and not a data set."""
    workload, _, file = name.partition("/")
    return bool(file) and workload in workloads.names() and file in artefacts(workload)


def files(name: str) -> list[str]:
    """The files of the data of this name. Raises LadderError if nothing makes them."""
    if name in DATA_SETS:
        return [f"{FOLDER}/{name}/{file}" for file in dataset.FILES]
    if is_artefact(name):
        return [f"{FOLDER}/{name}"]
    known = [*DATA_SETS, *(f"{workload}/{file}" for workload in workloads.names() for file in artefacts(workload))]
    raise LadderError(f"Nothing makes the data {name!r}: choose one of {', '.join(known)}.")


def name_of(workload: str, sizes: Mapping[str, Any]) -> str | None:
    """The name of the data that a workload's cases of these sizes read, or None."""
    return workloads.load(workload).data_set(sizes)


def files_of(workload: str, sizes: Mapping[str, Any]) -> list[str]:
    """The files that a workload's cases of these sizes read. Raises LadderError if nothing makes them."""
    name = name_of(workload, sizes)
    return files(name) if name else []


def load(workload: ModuleType, path: Path) -> Dataset:
    """Load the data at a path by the module of a workload. Raises LadderError if they are missing or corrupt."""
    try:
        return workload.load_data(path)
    except (OSError, ValueError) as error:  # raised by a user's `load_data`
        raise LadderError(f"The data {path} can't be loaded: {error}.") from error


def require_artefact(workload: str, name: str) -> None:
    """Refuse a name that isn't one of the workload's artefacts."""
    if name not in artefacts(workload):
        raise LadderError(
            f"{workload} makes no {name!r}: its artefacts are {', '.join(artefacts(workload)) or 'none'}."
        )


def fingerprint(workload: str) -> str:
    """A short digest of the code that a workload's artefacts depend on."""
    return sources.digest(f"ladder.workloads.{workload}.artefacts")


def make(workload: str, name: str, out: Path | str, data: str | None) -> None:
    """Make an artefact at the path `out`, atomically, from the data at the path `data`. Raises LadderError."""
    require_artefact(workload, name)
    workloads.load(workload)
    out = Path(out)
    out.parent.mkdir(parents=True, exist_ok=True)
    partial_path = out.with_name(f"part-{out.name}")  # the suffix may select the format
    importlib.import_module(f"ladder.workloads.{workload}.artefacts").make(name, partial_path, data)
    if not partial_path.is_file():
        raise LadderError(f"The artefacts.py of {workload} didn't write {name}: its `make` must write the file `path`.")
    partial_path.replace(out)
