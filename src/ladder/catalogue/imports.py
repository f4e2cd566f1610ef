"""What code depends on, found by following the imports of ladder's modules from definition to definition.

Of a module outside of the workloads, only the definitions that are reached count: top-level functions, classes and
assignments whose names are used, even if they are imported inside a function. An edit of other definitions changes no
fingerprint. A class is one definition, which refers to its bases: all their methods count, even overridden ones.
Statements that bind no name (a call, an `if`) count whenever their module is reached, and so do those of the enclosing
packages. A module in a workload's folder, the project's or a user's, counts as a whole, with its native sources and
their headers.

The local digest of a definition doesn't depend on its module: it is that of its syntax tree without docstrings and
imports of ladder's modules, and with `module.name` shortened to `name`. So moving or renaming a module changes no
fingerprint. Annotations of functions refer to nothing; those outside of the workloads don't count at all.
Imports by a computed name (a device, a workload, a variant) aren't followed: the caller passes them as roots.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TypeAlias

from ladder.catalogue import literals, locations, native_sources, syntax
from ladder.errors import LadderError

PACKAGE = Path(__file__).parents[1]  # the folder of `ladder`
# Modules that look up code, check its names, or name the files of compiled code: they don't affect measurements.
NOT_FOLLOWED = {
    "ladder.catalogue.circular_imports",
    "ladder.catalogue.contracts",
    "ladder.catalogue.missing_imports",
    "ladder.catalogue.sources",
    "ladder.catalogue.undefined_names",
    "ladder.build.compilation",
}
# Constants of a workload that plans and reports read as text, but no measurement.
DESCRIPTIVE_CONSTANTS = {"RUNGS", "CEILING", "SENSITIVITY"}


def fingerprint(*roots: str) -> tuple[str, set[Path]]:
    """A short digest of everything that roots depend on (see `reachable_nodes`), and the set of its files."""
    nodes = reachable_nodes(*roots)
    digests = sorted(node.digest for node in nodes)
    return hashlib.sha256("".join(digests).encode()).hexdigest()[:16], {node.path for node in nodes}


def files_of_workloads(*roots: str) -> tuple[list[str], set[Path]]:
    """The files in workloads' folders that modules import, at any depth: (sorted paths as strings, set of paths)."""
    paths: set[Path] = set()
    pending: list[Node] = [*filter(None, map(find_module, roots))]
    while pending:
        node = pending.pop()
        if node.path not in paths:
            paths.add(node.path)
            pending += node.workload_references if isinstance(node, Module) else node.references
    return list(map(str, sorted(paths))), paths


def reachable_nodes(*roots: str) -> set[Node]:
    """The modules, definitions and native sources that roots depend on.

    A root is the name of a module, which counts as a whole, or `module:name`. Raises LadderError if it doesn't exist.
    """
    visited: set[Node] = set()
    pending: list[Node] = []
    for root in roots:
        name, _, attribute = root.partition(":")
        if not (module := find_module(name)) or (
            attribute and attribute not in {**module.definitions_by_name, **module.imported_names}
        ):
            raise LadderError(f"{root.replace(':', '.')}, whose imports are to be followed, doesn't exist.")
        pending += resolve(f"{name}.{attribute}") if attribute else [module]
    while pending:
        node = pending.pop()
        if node not in visited:
            visited.add(node)
            pending += node.references
    return visited


def module_path(name: str) -> Path | None:
    """The file of a module or package of ladder, by its dotted name; None for any other."""
    return path_in(PACKAGE, tuple(locations.roots()), name)


@functools.cache
def path_in(package_folder: Path, workload_roots: tuple[Path, ...], name: str) -> Path | None:
    """As `module_path`, in these folders, by which the result is cached."""
    match name.split("."):
        case ["ladder", "workloads", workload, *submodules]:
            folders = [root / workload for root in workload_roots]
        case ["ladder", *submodules]:
            folders = [package_folder]
        case _:
            return None
    for folder in folders:
        path = folder.joinpath(*submodules)
        for candidate in (path / "__init__.py", path.with_name(f"{path.name}.py")):
            if candidate.is_file():
                return candidate
    return None


def find_module(name: str) -> Module | None:
    """The Module of a dotted name, or None."""
    path = module_path(name)
    return read(name, path) if path else None


@functools.cache
def read(name: str, path: Path) -> Module:
    return Module(name, path)


def resolve(name: str, is_used: bool = True) -> list[Node]:
    """What a dotted name refers to: definitions or a whole module, and the unnamed statements of its packages.

    Of a module that is only imported, with `is_used` False, only unnamed statements count, unless it is a workload's.
    """
    parts = name.split(".")
    for end in range(len(parts), 0, -1):
        if module := find_module(".".join(parts[:end])):
            break
    else:
        return []
    if module.name in NOT_FOLLOWED:
        return []
    unnamed: list[Node] = [
        definition for package in packages(parts[:end]) for definition in package.unnamed_definitions
    ]
    attribute = parts[end] if end < len(parts) else None
    if module.is_workload:
        return [*unnamed, module]
    if attribute in module.definitions_by_name:
        return [*unnamed, *module.definitions_by_name[attribute]]
    if attribute in module.imported_names:
        return [*unnamed, *resolve(module.imported_names[attribute], is_used)]
    return [*unnamed, module] if is_used else unnamed


def packages(parts: Sequence[str]) -> Iterator[Module]:
    """The Modules of a dotted name, given as its parts, and of its enclosing packages."""
    return filter(None, (find_module(".".join(parts[: end + 1])) for end in range(len(parts))))


class Module:
    """A module, read as text.

    `definitions_by_name` has its definitions by the names that they bind, `unnamed_definitions` those that bind none,
    and `imported_names` the dotted names that it imports, {name: dotted name}.
    """

    local_digest = digest = ""  # a module adds nothing to a digest, but its definitions do

    def __init__(self, name: str, path: Path) -> None:
        self.name, self.path = name, path
        self.is_workload = name.startswith("ladder.workloads.")
        self.package = name if path.name == "__init__.py" else name.rpartition(".")[0]
        self.imported_names: dict[str, str] = {}
        self.definitions_by_name: dict[str, list[Definition]] = {}
        self.unnamed_definitions: list[Definition] = []
        for node in itertools.filterfalse(syntax.is_for_type_checkers, literals.parse(path)):
            names = syntax.bound_names(node)
            if not names:
                self.imported_names |= syntax.imported_names(node, self.package)
            if syntax.is_definition(node) and not names & DESCRIPTIVE_CONSTANTS:
                definition = Definition(self, node)
                for name in names:
                    self.definitions_by_name.setdefault(name, []).append(definition)
                if not names:
                    self.unnamed_definitions.append(definition)

    @property
    def definitions(self) -> list[Definition]:
        return [*itertools.chain.from_iterable(self.definitions_by_name.values()), *self.unnamed_definitions]

    @property
    def definitions_digest(self) -> str:
        """The digest of the module's definitions without what they refer to."""
        digests = sorted(definition.local_digest for definition in self.definitions)
        return hashlib.sha256("".join(digests).encode()).hexdigest()

    @functools.cached_property
    def references(self) -> list[Node]:
        """Everything that the module as a whole depends on."""
        imported = [target for name in self.imported_names.values() for target in resolve(name, is_used=False)]
        return [*self.definitions, *imported, *(native_sources.of_module(self.path) if self.is_workload else ())]

    @property
    def workload_references(self) -> list[Node]:
        """The modules of workloads that the module imports, at any depth of nesting, and its native sources."""
        names = [
            name
            for node in literals.statements(self.path)
            for name in syntax.imported_names(node, self.package).values()
        ]
        modules = (find_module(name) for dotted in names for name in (dotted, dotted.rpartition(".")[0]))
        return [*(module for module in modules if module and module.is_workload), *native_sources.of_module(self.path)]


class Definition:
    """A top-level statement of a module: its dependencies and its digest."""

    def __init__(self, module: Module, node: ast.stmt) -> None:
        self.module, self.path, self.node = module, module.path, node

    @functools.cached_property
    def normal_form(self) -> syntax.Normaliser:
        return syntax.Normaliser(self.node, self.module, find_module)

    @functools.cached_property
    def local_digest(self) -> str:
        """The digest of the statement alone."""
        return hashlib.sha256(self.normal_form.text.encode()).hexdigest()

    @functools.cached_property
    def references(self) -> list[Node]:
        """What the statement refers to, in order."""
        return [target for name, is_used in self.normal_form.references for target in resolve(name, is_used)]

    @functools.cached_property
    def digest(self) -> str:
        """The digest of the statement and its references in order, which changes if two references are exchanged."""
        digests = [self.local_digest, *(target.local_digest for target in self.references)]
        return hashlib.sha256("".join(digests).encode()).hexdigest()


# What has a digest and refers to other code.
Node: TypeAlias = Module | Definition | native_sources.NativeSource
