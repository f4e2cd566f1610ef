"""The workloads: one folder each, with its inputs, cost and checks in `__init__.py` and one module per variant.

A variant is a module with a DEVICE; other modules of the folder are helpers. Only the job that runs a variant imports
it; planning reads its constants as text.
"""

import ast
import functools
import importlib
import inspect
import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

from ladder.catalogue import code_errors, contracts, forms, literals, locations
from ladder.errors import LadderError, did_you_mean


def names() -> list[str]:
    """The names of all workloads."""
    candidates = {path.parent.name for root in locations.roots() for path in root.glob("*/__init__.py")}
    return sorted(filter(locations.problem_path, candidates))


def load(workload: str) -> ModuleType:
    """Import a workload's module, add the defaults of names that it lacks, and make users' variants importable."""
    name, paths = f"ladder.workloads.{workload}", list(map(str, locations.folders(workload)))
    if name not in sys.modules or list(sys.modules[name].__path__) != paths:
        path = workload_path(workload)
        importlib.import_module("ladder.workloads").__path__[:] = map(str, locations.roots())
        try:
            importlib.import_module(name).__path__[:] = paths
        except code_errors.MISTAKES as error:
            sentence = code_errors.describe(error, f"The import of the workload {workload}", path)
            raise LadderError(f"{sentence}.{code_errors.advice_on_import(error)}") from error
        forms.require_sizes(path, sys.modules[name].SIZES)
        guard_functions(sys.modules[name], path)
    fill_defaults(sys.modules[name])
    return sys.modules[name]


def guard_functions(module: ModuleType, path: Path) -> None:
    """Have mistakes in a workload's functions raise LadderError with their place."""
    for name, entry in contracts.WORKLOAD.names.items():
        function = getattr(module, name, None)
        if inspect.isfunction(function) and not hasattr(function, "is_guarded"):
            setattr(module, name, code_errors.wrap_mistakes(function, f"{name}({entry.arguments})", path))


@functools.cache
def fill_defaults(module: ModuleType) -> None:
    """Add the defaults of the contract to a workload's module for the names that it lacks."""
    defaults = importlib.import_module(contracts.DEFAULTS_MODULE)
    for name in contracts.names_with_default():
        if not hasattr(module, name):
            default = getattr(defaults, name)
            setattr(module, name, partial(default, module) if callable(default) else default)


def workload_path(workload: str) -> Path:
    """The file that defines a workload's problem. Raises LadderError for a workload that doesn't exist."""
    if path := locations.problem_path(workload):
        return path
    if path := locations.module_path(workload, "__init__"):
        contracts.refuse_misspelt(path, contracts.WORKLOAD)
        raise LadderError(
            f"{path} has no `SIZES`, so it isn't a workload: a workload must have it. See docs/contracts.md."
        )
    hint = did_you_mean(workload, names()) or (
        f" Your own are found below the folders of LADDER_VARIANTS or, in a study, of the key `variant_folders`: now "
        f"{', '.join(map(str, locations.roots()[1:])) or 'none'}."
    )
    raise LadderError(f"There is no workload {workload!r}: choose one of {', '.join(names())}.{hint}")


def is_user_workload(workload: str) -> bool:
    """Whether a workload is in a user's folder, so that its functions are checked when it is used."""
    return not workload_path(workload).is_relative_to(locations.WORKLOADS)


@functools.cache
def variant_path(workload: str, variant: str) -> Path:
    """The file of a variant. Raises LadderError if it doesn't exist or has no DEVICE."""
    path = locations.module_path(workload, variant)
    if path is None or variant == "__init__":
        raise LadderError(
            f"There is no variant {variant!r} of {workload}: write {locations.folders(workload)[0].name}/{variant}.py, "
            f"or choose one of {', '.join(variants(workload))}.{did_you_mean(variant, variants(workload))}"
        )
    if "DEVICE" not in literals.read(path):
        contracts.refuse_misspelt(path, contracts.VARIANT)
        if literals.assigns(path, "DEVICE"):
            raise LadderError(
                f"{forms.location('DEVICE', path)} is computed, but it is read as text: write out its value."
            )
        raise LadderError(f"{path} doesn't say where its arrays live, so it isn't a variant: add DEVICE = \"host\".")
    return path


def variants(workload: str) -> list[str]:
    """The names of the variants of a workload."""
    paths = (path for folder in locations.folders(workload) for path in locations.modules(folder, "*.py"))
    return sorted({path.stem for path in paths if "DEVICE" in literals.read(path)})


def rungs(workload: str) -> dict[str, str]:
    """The ladder of a workload, {variant: its idea in one line}, in order; variants missing from RUNGS come last."""
    ideas = literals.read(locations.problem_path(workload)).get("RUNGS", {})
    return ideas | {name: "" for name in variants(workload) if name not in ideas}


def defines(workload: str, variant: str, name: str) -> bool:
    """Whether a variant's module defines or assigns a function of this name."""
    path = variant_path(workload, variant)
    functions = (node.name for node in literals.statements(path) if isinstance(node, ast.FunctionDef))
    return name in functions or literals.assigns(path, name)


@functools.cache
def constants(workload: str, variant: str) -> dict[str, Any]:
    """A variant's upper-case constants, including DEVICE and REQUIRES, read without importing it."""
    path = variant_path(workload, variant)
    values = literals.read(path)
    # TILES may be computed by a variant that chooses the tile itself.
    literal = [name for name in contracts.constants() if name != "TILES"]
    if computed := [name for name in literal if name not in values and literals.assigns(path, name)]:
        raise LadderError(f"{path} computes {computed[0]}, which is read as text: write out its value.")
    if not {"RUNTIME", "USES"} & set(values):
        raise LadderError(
            f'{path} doesn\'t say whose threads it uses: add RUNTIME = "numba", "blas" or another runtime.'
        )
    return {"REQUIRES": ()} | values


def load_variant(workload: str, variant: str) -> ModuleType:
    """Import a variant's module; only jobs that run the variant may do so."""
    load(workload)
    variant_path(workload, variant)
    return importlib.import_module(f"ladder.workloads.{workload}.{variant}")


def complete(workload: str, sizes: Mapping[str, Any]) -> dict[str, Any]:
    """All sizes of a case, in the workload's order, with defaults filled in. Raises LadderError for invalid sizes.

    A workload's SIZES maps the name of each size to its kind: `int` (required, a whole number of at least 1), `float`
    (required, a number above 0), a tuple of allowed words (the first is the default), a number (the default; any number
    of at least 0 is allowed, only whole ones if the default is whole), or a string (the default; any string is
    allowed).
    """
    module = load(workload)
    if unknown := set(sizes) - set(module.SIZES):
        raise LadderError(
            f"{workload} has no size named {', '.join(sorted(unknown))}: its sizes are {', '.join(module.SIZES)}."
            f"{did_you_mean(min(unknown), module.SIZES)}"
        )
    complete_sizes = {
        name: forms.require_size(workload, name, kind, sizes.get(name, forms.default_of(kind)))
        for name, kind in module.SIZES.items()
    }
    if problem := module.refuse(complete_sizes):
        raise LadderError(problem)
    return complete_sizes


def complete_with(workload: str, sizes: dict[str, Any], default: int) -> dict[str, Any]:
    """Complete sizes: the given ones, and `default` for all other required ones."""
    defaults = {name: kind(default) for name, kind in load(workload).SIZES.items() if isinstance(kind, type)}
    return complete(workload, defaults | sizes)
