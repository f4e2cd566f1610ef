"""Analysis of Python statements as syntax trees: the names that they bind, import and use, and their normal form."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ladder.catalogue.literals import statements

if TYPE_CHECKING:
    from ladder.catalogue.imports import Module

MODULE_NAME = re.compile(r"ladder(\.\w+)+\.?")
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
NAME_BINDERS = (*FUNCTIONS, ast.ClassDef, ast.ExceptHandler, ast.MatchAs, ast.MatchStar)
BLOCKS = ("body", "handlers", "orelse", "finalbody", "cases")  # the fields that hold statements
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def bound_names(node: ast.AST) -> set[str]:
    """The names that a top-level statement defines or assigns; empty for imports and compound statements like `if`."""
    if isinstance(node, (*FUNCTIONS, ast.ClassDef)):
        return {node.name}
    if not isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign):
        return set()
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    names = (name for target in targets for name in ast.walk(target) if isinstance(name, ast.Name))
    return {name.id for name in names if isinstance(name.ctx, ast.Store)}


def is_definition(node: ast.AST) -> bool:
    """Whether a statement is neither an import nor a docstring."""
    return not isinstance(node, ast.Import | ast.ImportFrom) and not is_docstring(node)


def is_for_type_checkers(node: ast.stmt) -> bool:
    """Whether a statement is `if TYPE_CHECKING:`, which only type checkers execute."""
    return isinstance(node, ast.If) and ast.unparse(node.test).rpartition(".")[2] == "TYPE_CHECKING"


def is_docstring(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def imported_names(node: ast.AST, package: str) -> dict[str, str]:
    """The names that a statement imports from ladder, at any depth, {name: dotted name}, seen from `package`."""
    origins: dict[str, str] = {}
    for statement in nested_statements(node):
        if isinstance(statement, ast.Import):
            for alias in statement.names:
                first = alias.name.partition(".")[0]
                origins |= {alias.asname: alias.name} if alias.asname else {first: first}
                origins[f"import {alias.name}"] = alias.name  # the whole module runs, even if only a part is used
        elif isinstance(statement, ast.ImportFrom):
            base = import_base(statement, package)
            origins |= {alias.asname or alias.name: f"{base}.{alias.name}" for alias in statement.names}
    return {name: origin.removesuffix(".*") for name, origin in origins.items() if is_from_ladder(origin)}


def nested_statements(node: ast.AST) -> list[Any]:
    """A statement and the statements nested in it, in the order of `ast.walk` but without expressions."""
    nodes = [node]
    for outer in nodes:  # the list grows during the loop
        nodes += [inner for name in BLOCKS for inner in getattr(outer, name, ())]
    return nodes


def import_base(node: ast.ImportFrom, package: str) -> str:
    """The dotted name of the module after `from` in an import, with leading dots resolved."""
    parts = package.split(".")
    parent_parts = parts[: len(parts) - node.level + 1] if node.level else []
    return ".".join([*parent_parts, *([node.module] if node.module else [])])


def is_from_ladder(origin: str) -> bool:
    return origin.partition(".")[0] == "ladder"


def libraries(path: Path) -> set[str]:
    """The names of the top-level packages that a file imports at any depth, including ladder."""
    names = set()
    for node in (node for statement in statements(path) for node in ast.walk(statement)):
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names.add((node.module or "").partition(".")[0])
    return names


def dump(tree: ast.AST) -> str:
    """A syntax tree as text, the same in all versions of Python: without the empty fields that newer versions add."""
    for node in ast.walk(tree) if "type_params" in ast.FunctionDef._fields else ():
        if getattr(node, "type_params", None) == []:
            delattr(node, "type_params")
    return ast.dump(tree, **({"show_empty": True} if sys.version_info >= (3, 13) else {}))


class Normaliser(ast.NodeTransformer):
    """The normal form of a statement: without docstrings, and with the names that it uses from ladder without modules.

    `text` is the syntax tree in this form. `references` are what the statement refers to, in order, each (dotted name,
    whether it is used and not only imported): names that the `module` binds or imports, imports inside the statement,
    and strings that are a module's dotted name, but no local names and none in annotations of functions. `find(name)`
    is the module of a dotted name, or None. The statement is modified.
    """

    def __init__(self, node: ast.stmt, module: Module, find: Callable[[str], Any]) -> None:
        self.module, self.find = module, find
        # {name: dotted name in ladder} of what the statement may use by an import.
        self.origins = module.imported_names | imported_names(node, module.package)
        self.locals: list[set[str]] = []  # the local names of the enclosing scopes, outermost first
        self.references: list[tuple[str, bool]] = []
        if "*" in self.origins:
            self.references.append((self.origins["*"], True))
        self.text = dump(self.visit(node))

    def refer(self, name: str, is_used: bool = True) -> str:
        """Record a reference, and return the name that replaces it in the tree."""
        self.references.append((name, is_used))
        return "module" if self.find(name) else name.rpartition(".")[2]

    def dotted_name(self, node: ast.AST) -> str | None:
        """The dotted name of what an expression refers to by an import from ladder, or None."""
        if isinstance(node, ast.Name) and not any(node.id in names for names in self.locals):
            return self.origins.get(node.id)
        if isinstance(node, ast.Attribute) and (base := self.dotted_name(node.value)) and self.find(base):
            return f"{base}.{node.attr}"
        return None

    def visit_Name(self, node: ast.Name) -> ast.AST:
        if name := self.dotted_name(node):
            return ast.Name(self.refer(name), node.ctx)
        if node.id in self.module.definitions_by_name and not any(node.id in names for names in self.locals):
            self.refer(f"{self.module.name}.{node.id}")
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        if name := self.dotted_name(node):
            return ast.Name(self.refer(name), node.ctx)
        return self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        if isinstance(node.value, str) and MODULE_NAME.fullmatch(node.value):
            # The first part of an f-string such as f"ladder.verbs.{name}" names a package that is only imported.
            name = node.value.removesuffix(".")
            if self.find(name):
                return ast.Constant(self.refer(name, is_used=name == node.value))
        return node

    def visit_Import(self, node: ast.Import) -> ast.AST | None:
        for origin in imported_names(node, self.module.package).values():
            self.refer(origin, is_used=False)
        node.names = [alias for alias in node.names if not is_from_ladder(alias.name)]
        return node if node.names else None

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.AST | None:
        for origin in imported_names(node, self.module.package).values():
            self.refer(origin, is_used=False)
        return None if is_from_ladder(import_base(node, self.module.package)) else node

    def visit_FunctionDef(self, node: Any) -> ast.AST:
        # Decorators and defaults are evaluated outside of the function.
        for name in ("decorator_list", "args"):
            self.visit_field(node, name)
        self.visit_annotation(node, "returns")
        self.visit_scope(node, local_names(node), ["body"])
        return node

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_arg(self, node: ast.arg) -> ast.AST:
        self.visit_annotation(node, "annotation")
        return node

    def visit_annotation(self, node: ast.AST, name: str) -> None:
        """Omit an argument's or a result's annotation; in a workload, where a compiler may read it, keep its text."""
        if not self.module.is_workload:
            setattr(node, name, None)

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        self.visit_field(node, "args")
        self.visit_scope(node, local_names(node), ["body"])
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        node.body = without_docstring(node.body)
        return self.generic_visit(node)

    def visit_any_comprehension(self, node: Any) -> ast.AST:
        first = node.generators[0]
        first.iter = self.visit(first.iter)
        targets = (target for generator in node.generators for target in ast.walk(generator.target))
        names = {target.id for target in targets if isinstance(target, ast.Name)}
        fields = ["generators", *(name for name in ("key", "value", "elt") if hasattr(node, name))]
        self.visit_scope(node, names, fields)
        return node

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = visit_any_comprehension

    def visit_scope(self, node: Any, names: set[str], fields: Iterable[str]) -> None:
        """Visit the fields of a node in which `names` are local."""
        if isinstance(getattr(node, "body", None), list):
            node.body = without_docstring(node.body)
        self.locals.append(names)
        for name in fields:
            self.visit_field(node, name)
        self.locals.pop()

    def visit_field(self, node: ast.AST, name: str) -> None:
        value = getattr(node, name)
        if isinstance(value, list):
            value[:] = [result for result in map(self.visit, value) if result is not None]
        elif value is not None:
            setattr(node, name, self.visit(value))


def without_docstring(body: list[ast.stmt]) -> list[ast.stmt]:
    return body[1:] if is_docstring(body[0]) else body


def local_names(function: Any) -> set[str]:
    """The local names of a function: its arguments and the names that it assigns, without those declared `global`."""
    arguments = {node.arg for node in ast.walk(function.args) if isinstance(node, ast.arg)}
    if isinstance(function, ast.Lambda):
        return arguments | set(assigned_names([function.body]))
    globals_ = {name for node in nested_statements(function) if isinstance(node, ast.Global) for name in node.names}
    return (arguments | set(assigned_names(function.body))) - globals_


def assigned_names(nodes: Iterable[ast.AST]) -> Iterator[str]:
    """The names that nodes assign, except inside of nested functions, classes and comprehensions."""
    for node in nodes:
        if isinstance(node, ast.Name):
            if isinstance(node.ctx, ast.Store):
                yield node.id
            continue
        if isinstance(node, NAME_BINDERS) and node.name:
            yield node.name
        if not isinstance(node, (*FUNCTIONS, *COMPREHENSIONS, ast.ClassDef, ast.Lambda)):
            yield from assigned_names(ast.iter_child_nodes(node))
