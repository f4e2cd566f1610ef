"""What code depends on: a walk along ladder's own imports, from definition to definition.

A module of the harness counts by its definitions that are reached: the top-level functions, classes and assignments
whose names are used, wherever they are imported from, by an import inside a function too. An edit of any other changes
nothing. Statements that bind no name (a call, an `if`) count with any name of their module, and so do those of the
packages around it. A module in a workload's folder, the project's or a user's, counts as a whole, with the sources in
other languages that belong to it and the headers that these include.

The digest of a definition leaves out where it stands: it is that of its syntax tree without docstrings, without imports
of ladder's own modules, and with `module.name` as `name`. So moving or renaming a module changes nothing. What is
imported by a computed name (a device, a workload, a variant) is not followed: whoever asks names it as a root.
"""

import functools
import hashlib
from pathlib import Path

from ladder.catalogue import companions, literals, syntax, workloads
from ladder.errors import LadderError

HOME = Path(__file__).parents[1]
# What finds code, or names the files of what is compiled, changes no measurement.
NOT_FOLLOWED = {"ladder.catalogue.sources", "ladder.build.compilation"}
# Literals of a workload that lists, plans and reports read as text, and no measurement.
DESCRIPTIONS = {"RUNGS", "CEILING", "SENSITIVITY"}


def fingerprint(*roots):
    """A short digest of all that roots depend on, see `reached`, and the files that hold it."""
    found = reached(*roots)
    digests = sorted(one.digest for one in found)
    return hashlib.sha256("".join(digests).encode()).hexdigest()[:16], {one.path for one in found}


def files_of_workloads(*roots):
    """The files in workloads' folders that modules there depend on, by imports of each other alone: sorted names."""
    found, due = set(), [find(root) for root in roots]
    while due:
        one = due.pop()
        if one.path not in found:
            found.add(one.path)
            due += one.in_workloads if isinstance(one, Module) else one.references
    return list(map(str, sorted(found))), found


def reached(*roots):
    """The modules, definitions and companions that roots depend on.

    A root is the name of a module, all of which counts, or `module:name`. Raises LadderError where there is none.
    """
    found, due = set(), []
    for root in roots:
        name, _, attribute = root.partition(":")
        if not (module := find(name)) or (attribute and attribute not in {**module.bound, **module.imported}):
            raise LadderError(f"There is no {root.replace(':', '.')} to follow the imports of.")
        due += targets(f"{name}.{attribute}") if attribute else [module]
    while due:
        one = due.pop()
        if one not in found:
            found.add(one)
            due += one.references
    return found


def module_path(name):
    """The file of a module or package of ladder, by its dotted name; None for any other."""
    return path_in(HOME, tuple(workloads.roots()), name)


@functools.cache
def path_in(home, roots, name):
    match name.split("."):
        case ["ladder", "workloads", workload, *below]:
            folders = [root / workload for root in roots]
        case ["ladder", *below]:
            folders = [home]
        case _:
            return None
    for folder in folders:
        path = folder.joinpath(*below)
        for candidate in (path / "__init__.py", path.with_name(f"{path.name}.py")):
            if candidate.is_file():
                return candidate
    return None


def find(name):
    """The Module of a dotted name, or None."""
    path = module_path(name)
    return path and read(name, path)


@functools.cache
def read(name, path):
    return Module(name, path)


def targets(name, is_used=True):
    """What a dotted name refers to: definitions or a whole module, and the statements without a name around them.

    A module that is imported and not used (`is_used`) counts by these statements alone, unless it is a workload's.
    """
    parts = name.split(".")
    for end in range(len(parts), 0, -1):
        if module := find(".".join(parts[:end])):
            break
    else:
        return []
    if module.name in NOT_FOLLOWED:
        return []
    around = [one for each in packages(parts[:end]) for one in each.unnamed]
    attribute = parts[end] if end < len(parts) else None
    if module.is_workload:
        return [*around, module]
    if attribute in module.bound:
        return [*around, *module.bound[attribute]]
    if attribute in module.imported:
        return [*around, *targets(module.imported[attribute], is_used)]
    return [*around, module] if is_used else around


def packages(parts):
    """The Modules of a dotted name's packages and its own."""
    return filter(None, (find(".".join(parts[: end + 1])) for end in range(len(parts))))


class Module:
    """A module as text: its top-level statements by their names, and where its other names come from."""

    own = digest = ""

    def __init__(self, name, path):
        self.name, self.path = name, path
        self.is_workload = name.startswith("ladder.workloads.")
        self.package = name if path.name == "__init__.py" else name.rpartition(".")[0]
        self.imported, self.bound, self.unnamed = {}, {}, []
        for node in literals.parse(path):
            names = syntax.bound(node)
            if not names:
                self.imported |= syntax.imported(node, self.package)
            if syntax.is_definition(node) and not names & DESCRIPTIONS:
                definition = Definition(self, node)
                for name in names:
                    self.bound.setdefault(name, []).append(definition)
                if not names:
                    self.unnamed.append(definition)

    @property
    def definitions(self):
        return [*(one for some in self.bound.values() for one in some), *self.unnamed]

    @property
    def own_digest(self):
        """That of the module alone, whatever it imports."""
        return hashlib.sha256("".join(sorted(one.own for one in self.definitions)).encode()).hexdigest()

    @functools.cached_property
    def references(self):
        """All that the module depends on as a whole."""
        imported = [one for name in self.imported.values() for one in targets(name, is_used=False)]
        return [*self.definitions, *imported, *(companions.of(self.path) if self.is_workload else ())]

    @property
    def in_workloads(self):
        """The modules of workloads that it imports, by statements at any depth, and its companions."""
        names = [
            name for node in literals.statements(self.path) for name in syntax.imported(node, self.package).values()
        ]
        found = (find(name) for dotted in names for name in (dotted, dotted.rpartition(".")[0]))
        return [*(one for one in found if one and one.is_workload), *companions.of(self.path)]


class Definition:
    """A top-level statement of a module: what it depends on, and its digest."""

    def __init__(self, module, node):
        self.module, self.path, self.node = module, module.path, node

    @functools.cached_property
    def normal(self):
        return syntax.Normaliser(self.node, self.module, find)

    @functools.cached_property
    def own(self):
        """The digest of the statement alone."""
        return hashlib.sha256(self.normal.text.encode()).hexdigest()

    @functools.cached_property
    def references(self):
        """What it refers to, in its order."""
        return [one for name, is_used in self.normal.names for one in targets(name, is_used)]

    @functools.cached_property
    def digest(self):
        """With those of what it refers to, so that two definitions of one name can't be exchanged unnoticed."""
        return hashlib.sha256("".join([self.own, *(one.own for one in self.references)]).encode()).hexdigest()
