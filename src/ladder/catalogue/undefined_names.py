"""Names that a user's module uses but nothing defines: they would stop a job, perhaps after hours of measuring.

The module is read as text. pyflakes finds names that it doesn't define, and keys and functions that it defines twice.
Names that it takes from modules of ladder's or of users' must be defined there.
"""

import ast
import functools
from collections.abc import Iterator
from pathlib import Path

from ladder.catalogue import contracts, imports, literals, missing_imports, syntax
from ladder.errors import LadderError, did_you_mean

# The kinds of pyflakes's messages for which a module is refused; a message's arguments fill the text.
MESSAGES = {
    "UndefinedName": "uses {0!r}, which is not defined",
    "UndefinedLocal": "uses the local variable {0!r} before it is assigned",
    "MultiValueRepeatedKeyLiteral": "gives the key {0!r} more than once, with different values: Python keeps the last",
    "ReturnOutsideFunction": "has a `return` outside of a function",
    "RedefinedWhileUnused": "defines {0!r} again: Python drops the definition in line {1}",
}


def refuse_undefined(path: Path) -> None:
    """Refuse a module with undefined names, or with names that another module lacks. Raises LadderError."""
    for line, problem in [*absent_names(path), *pyflakes_problems(path)]:
        raise LadderError(f"Line {line} of {path} {problem}")


def pyflakes_problems(path: Path) -> Iterator[tuple[int, str]]:
    """What pyflakes finds in a module: (line, what is wrong there)."""
    from pyflakes import checker  # here, because planning without users' modules doesn't need it

    statements = literals.parse(path)
    functions = {node.name for node in statements if isinstance(node, syntax.FUNCTIONS)}
    messages = checker.Checker(ast.Module(statements, []), str(path)).messages
    for message in sorted(messages, key=lambda message: message.lineno):
        kind, (name, *_) = type(message).__name__, message.message_args or ("",)
        # To import a module twice does no harm.
        if kind in MESSAGES and (kind != "RedefinedWhileUnused" or name in functions):
            hint = did_you_mean(name, sorted(known_names(path))) if kind == "UndefinedName" else ""
            yield message.lineno, f"{MESSAGES[kind].format(*map(line_or_value, message.message_args))}.{hint}"


def known_names(path: Path) -> set[str]:
    """The names that a module binds anywhere."""
    nodes = list(contracts.walk_all(literals.statements(path)))
    assigned = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    arguments = {node.arg for node in nodes if isinstance(node, ast.arg)}
    return {*contracts.definitions(path), *assigned, *arguments}


def line_or_value(value: object) -> object:
    """The line of a position in a message; a name or a key itself."""
    return getattr(value, "lineno", value)


def absent_names(path: Path) -> Iterator[tuple[int, str]]:
    """The names that a module takes from other modules of ladder's or users' that lack them: (line, what is wrong)."""
    package = missing_imports.package_of(path)
    nodes = list(contracts.walk_all(literals.statements(path)))
    for statement in outside_try(literals.statements(path)):
        if isinstance(statement, ast.ImportFrom):
            yield from absent_imports(path, statement, syntax.import_base(statement, package))
    modules = aliases(nodes, package)
    for node in nodes:
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
            module = dotted_name(node.value, modules)
            if module and not has_name(module, node.attr):
                yield node.lineno, f"uses {ast.unparse(node)}, {absence_clause(module, node.attr)}"


def absent_imports(path: Path, statement: ast.ImportFrom, module: str) -> Iterator[tuple[int, str]]:
    """The names that an import takes from a module of ladder's or a user's that lacks them: (line, what is wrong)."""
    if syntax.is_from_ladder(module):
        missing_imports.user_files(path, statement.lineno, module, [])  # raises LadderError without the module
        for alias in statement.names:
            if not has_name(module, alias.name):
                yield statement.lineno, f"imports {alias.name!r} from {module}, {absence_clause(module, alias.name)}"


def absence_clause(module: str, name: str) -> str:
    """The end of a sentence on a name that a module lacks."""
    return f"but {imports.module_path(module)} doesn't define it.{did_you_mean(name, names_of(module))}"


def outside_try(statements: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Statements, and those nested in them, but not those of a `try`, which may handle that a name is missing."""
    for statement in statements:
        if not isinstance(statement, ast.Try):
            yield statement
            yield from outside_try([inner for name in syntax.BLOCKS for inner in getattr(statement, name, ())])


def aliases(nodes: list[ast.AST], package: str) -> dict[str, str]:
    """The names that a file imports from ladder and binds to nothing else, {name: dotted name of its origin}."""
    names: dict[str, set[str]] = {}
    for node in nodes:
        if isinstance(node, ast.Import | ast.ImportFrom):
            for name, origin in syntax.imported_names(node, package).items():
                names.setdefault(name, set()).add(origin)
        elif isinstance(node, ast.arg):
            names.setdefault(node.arg, set()).add("")
        elif isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            names.setdefault(node.id, set()).add("")
    return {name: min(origins) for name, origins in names.items() if len(origins) == 1}


def dotted_name(node: ast.AST, modules: dict[str, str]) -> str | None:
    """The dotted name of the module that an expression refers to, or None."""
    if isinstance(node, ast.Name):
        name = modules.get(node.id)
    else:
        base = dotted_name(node.value, modules) if isinstance(node, ast.Attribute) else None
        name = base and f"{base}.{node.attr}"  # type: ignore[attr-defined]
    return name if name and imports.module_path(name) else None


def has_name(module: str, name: str) -> bool:
    """Whether a module of ladder's or a user's has a name, as far as its text tells."""
    names = names_of(module)
    is_module = missing_imports.folder_of_package(f"{module}.{name}") or imports.module_path(f"{module}.{name}")
    return bool(name == "*" or {name, "*", "__getattr__"} & names or name.startswith("__") or is_module)


def names_of(module: str) -> set[str]:
    """The names that a module binds, and a workload's defaults; `*` after `from x import *` or if it has no file."""
    path = imports.module_path(module)
    return names_bound_in(path) if path else {"*"}


@functools.cache
def names_bound_in(path: Path) -> set[str]:
    names = {*contracts.definitions(path), *syntax.assigned_names(literals.statements(path))}
    is_workload = path.name == "__init__.py" and "SIZES" in names
    return names | set(contracts.names_with_default()) if is_workload else names
