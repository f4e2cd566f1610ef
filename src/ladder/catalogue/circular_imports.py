"""Circles of imports among workloads' modules that would stop a job, found by following the imports as Python does.

A circle alone is no mistake: modules may import each other as long as neither reads a name that the other hasn't bound
yet. Only statements that run when a module is imported count.
"""

import ast
import itertools
from collections.abc import Iterator
from typing import NoReturn

from ladder.catalogue import contracts, imports, literals, syntax
from ladder.errors import LadderError, enumerate_words


def refuse_circles(module: str) -> None:
    """Refuse a module, given by its dotted name, that a circle of imports would stop. Raises LadderError."""
    Importer().load(module)


class Importer:
    """Imports of workloads' modules, as text.

    `running` are the modules whose import hasn't ended, in the order in which each imports the next, {name: line that
    it has reached}; `bound_names` are the names that each module has bound so far, {module: {name: the module that it
    is, or ""}}.
    """

    def __init__(self) -> None:
        self.running: dict[str, int] = {}
        self.bound_names: dict[str, dict[str, str]] = {}

    def load(self, name: str) -> None:
        """Import a module and, before it, its packages from `ladder.workloads.<workload>` on."""
        parts = name.split(".")
        for end in range(3, len(parts) + 1):
            self.load_module(".".join(parts[:end]))

    def load_module(self, name: str) -> None:
        module = imports.find_module(name)
        if name in self.bound_names or not module or not module.is_workload:
            return
        self.bound_names[name], self.running[name] = {}, 1
        for statement in literals.statements(module.path):
            self.running[name] = statement.lineno
            self.run(statement, module)
        del self.running[name]

    def run(self, statement: ast.stmt, module: imports.Module) -> None:
        """Run a statement of a module: import what it imports, and bind its names."""
        names = self.bound_names[module.name]
        if isinstance(statement, ast.Import | ast.ImportFrom):
            for name, origin in syntax.imported_names(statement, module.package).items():
                self.load(origin)
                self.require_bound(module.name, *origin.rpartition(".")[::2])
                names[name] = origin
            names |= dict.fromkeys(contracts.names_bound_or_imported(statement) - {*names}, "")
            return
        for node in nodes_run_at_import(statement):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                self.require_bound(module.name, names.get(node.value.id, ""), node.attr)
        names |= dict.fromkeys(syntax.assigned_names([statement]), "")
        for node in syntax.nested_statements(statement):
            names |= dict.fromkeys(contracts.names_bound_or_imported(node) - {*names}, "")

    def require_bound(self, importer: str, module: str, name: str) -> None:
        """Refuse a name that a running module binds later."""
        path = imports.module_path(module)
        is_unbound = module in self.running and not {name, "*"} & {*self.bound_names[module]}
        is_definition = path and name in contracts.definitions(path) and not imports.module_path(f"{module}.{name}")
        if is_unbound and is_definition and module != importer:
            self.refuse(importer, module, name)

    def refuse(self, importer: str, module: str, name: str) -> NoReturn:
        circle = list(self.running)[list(self.running).index(module) :]
        steps = [f"{self.location(importing)} imports {imported}" for importing, imported in itertools.pairwise(circle)]
        raise LadderError(
            f"Modules import each other: {enumerate_words(steps)}, but {self.location(importer)} needs {name!r} of "
            f"{module}, which isn't defined before the import. Move what both use to a third module, or import it "
            "within a function."
        )

    def location(self, module: str) -> str:
        return f"line {self.running[module]} of {imports.module_path(module)}"


def nodes_run_at_import(node: ast.AST) -> Iterator[ast.AST]:
    """A node and the nodes in it that run when their module is imported: all but the bodies of functions."""
    yield node
    body = node.body if isinstance(node, (*syntax.FUNCTIONS, ast.Lambda)) else []
    skipped_nodes = body if isinstance(body, list) else [body]  # that of a lambda is an expression
    for child in ast.iter_child_nodes(node):
        if child not in skipped_nodes:
            yield from nodes_run_at_import(child)
