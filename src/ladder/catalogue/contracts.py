"""The contracts: the names that a workload, a variant and a chapter must or may define, and checks of modules.

docs/contracts.md explains every name. Modules are read as text, so nothing is imported. A name outside of the contract
is a helper's, unless it resembles a name that the module lacks and no code in the folder uses it: then it is taken for
a misspelling, which would otherwise go unnoticed, since nothing reads it.
"""

import ast
import functools
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from ladder.catalogue import literals, syntax
from ladder.errors import LadderError, similar_names

REQUIRED, OPTIONAL = "required", "optional"
# The need of a workload's optional names that have a default, and the module that holds the defaults.
DEFAULT, DEFAULTS_MODULE = "default", "ladder.harness.defaults"
# A name whose similarity to another, difflib's ratio, is at least this is taken for a misspelling of it.
MIN_SIMILARITY = 0.75
# The nodes of a syntax tree that are literals.
LITERAL_NODES = (ast.Constant, ast.Tuple, ast.List, ast.Dict, ast.Set)


class Name(NamedTuple):
    """A name of a contract: a constant or, with `arguments` as docs/contracts.md writes them, a function.

    `need` is REQUIRED, OPTIONAL or DEFAULT. A required name may be missing if the module has the name
    `alternative`. `arguments_if` is (other name, arguments): the arguments if the module has the other name too.
    `default` is the value of a figure's constant if the figure lacks it. With `must_return` the function must return
    a value.
    """

    need: str = OPTIONAL
    arguments: str | None = None
    alternative: str | None = None
    arguments_if: tuple[str, str] | None = None
    default: object = None
    must_return: bool = False


class Contract(NamedTuple):
    """The names of one kind of module, {name: Name}; `subject` is what messages call it, such as `a workload`."""

    subject: str
    names: dict


WORKLOAD = Contract(
    "a workload",
    {
        "RUNGS": Name(),
        "SIZES": Name(REQUIRED),
        "ARRAYS": Name(),
        "STATEFUL": Name(DEFAULT),
        "CEILING": Name(),
        "CURVE": Name(DEFAULT),
        "FACTS": Name(DEFAULT),
        "SENSITIVITY": Name(),
        "GENERATED": Name(DEFAULT),
        "refuse": Name(DEFAULT, "sizes"),
        "data_set": Name(DEFAULT, "sizes"),
        "load_data": Name(DEFAULT, "path"),
        "reference_sizes": Name(DEFAULT, "sizes"),
        "rounds": Name(DEFAULT, "sizes", must_return=True),
        "arrays": Name(REQUIRED, "sizes", must_return=True),
        "fill": Name(REQUIRED, "inputs, sizes, round, data", must_return=True),
        "generate": Name(OPTIONAL, "problem, round"),
        "state": Name(OPTIONAL, "sizes"),
        "cost": Name(REQUIRED, "sizes", arguments_if=("FACTS", "sizes, facts"), must_return=True),
        "expected": Name(REQUIRED, "sizes, inputs, precision", alternative="check", must_return=True),
        "check": Name(DEFAULT, "sizes, inputs, outputs, round, data, reference, precision", must_return=True),
    },
)
VARIANT = Contract(
    "a variant",
    {
        "DEVICE": Name(REQUIRED),
        "RUNTIME": Name(),  # `workloads.constants` requires it or USES
        "SOURCE": Name(),
        "MACROS": Name(),
        "TILES": Name(),
        "KERNELS": Name(),
        "LIMITS": Name(),
        "PRECISION": Name(),
        "USES": Name(),
        "REQUIRES": Name(),
        "PROGRAMS": Name(),
        "PEER": Name(),
        "ENVIRONMENT": Name(),
        "first_touch": Name(OPTIONAL, "problem"),
        "geometry": Name(OPTIONAL, "sizes, **tuning", must_return=True),
        "setup": Name(REQUIRED, "problem, *, <tuning>", must_return=True),
    },
)
REFERENCE = Contract("a reference", {"compute": Name(REQUIRED, "sizes, data", must_return=True)})
ARTEFACTS = Contract("a module of artefacts", {"ARTEFACTS": Name(REQUIRED), "make": Name(REQUIRED, "name, path, data")})
FORMATS = Contract(
    "a module of file formats",
    {
        "VARIANTS": Name(REQUIRED),
        "BY_IMAGE": Name(REQUIRED),
        "read": Name(REQUIRED, "network, inputs", must_return=True),
        "require_output": Name(REQUIRED, "path, images"),
        "write": Name(REQUIRED, "file, suffix, images, chunks"),
    },
)
COLUMNS = Contract("a module of columns", {"COLUMNS": Name(REQUIRED)})
# The other modules that a workload's folder may have, in addition to `__init__.py` and the variants.
MODULES = {"reference": REFERENCE, "artefacts": ARTEFACTS, "formats": FORMATS, "columns": COLUMNS}

FIGURE = Contract(
    "a figure",
    {
        "TITLE": Name(REQUIRED),
        "CATEGORY": Name(),  # by default the chapter's
        "CAPTION": Name(REQUIRED),
        "EXPERIMENTS": Name(default=()),
        "USES_CEILINGS": Name(default=False),
        "USES_DATA": Name(default=False),
        "USES_ARTEFACTS": Name(default=()),
        "draw": Name(REQUIRED, "**given", must_return=True),  # the study, or the inputs that the constants name
    },
)
# A module of a chapter without TITLE is a helper of figures, or a figure with a misspelt TITLE.
FIGURE_HELPER = Contract(FIGURE.subject, {name: entry._replace(need=OPTIONAL) for name, entry in FIGURE.names.items()})
# The modules of a chapter, besides its figures and `tables.py`, whose functions TABLES names.
CHAPTER_MODULES = {
    "__init__": Contract(
        "a chapter",
        {name: Name() for name in ("ORDER", "TITLE", "CATEGORY", "TABLES", "LOOKS", "METHOD")},
    ),
    "lines": Contract(
        "a chapter's `lines.py`",
        {
            "SOURCES": Name(REQUIRED),
            "MACHINES": Name(REQUIRED),
            "LINES": Name(REQUIRED),
            "UNIT": Name(REQUIRED),
            "TABLE": Name(),
            "FIGURE": Name(),
            "PANELS": Name(),
            "OUTSIDE": Name(),
            "RUNGS": Name(),
            "per_unit": Name(OPTIONAL, "rows", must_return=True),
            "part_of": Name(OPTIONAL, "phases", must_return=True),
        },
    ),
    "claims": Contract("a chapter's `claims.py`", {"CLAIMS": Name(REQUIRED)}),
    "model": Contract(
        "a model",
        {
            "predict": Name(REQUIRED, "machine, row", must_return=True),
            "floor": Name(OPTIONAL, "machine, row", must_return=True),
        },
    ),
    # Templates may use any name of these.
    "text": Contract("a chapter's `text.py`", {}),
    "earlier": Contract("a chapter's `earlier.py`", {}),
}


def names_with_default() -> list[str]:
    """The names that have a default in DEFAULTS_MODULE."""
    return [name for name, entry in WORKLOAD.names.items() if entry.need == DEFAULT]


def constants(contract: Contract = VARIANT) -> list[str]:
    """The names of a contract that aren't functions."""
    return [name for name, entry in contract.names.items() if entry.arguments is None]


def require_modules(folder: Path) -> None:
    """Refuse a workload's folder, except its variants, if a module or the chapter breaks its contract."""
    require_names(folder / "__init__.py", WORKLOAD)
    for name, contract in MODULES.items():
        require_names(folder / f"{name}.py", contract)
    require_chapter(folder / "paper")


def require_chapter(folder: Path) -> None:
    """Refuse a chapter if one of its modules breaks its contract. Raises LadderError."""
    values = literals.read(folder / "__init__.py")
    tables = values.get("TABLES", ())
    place = literals.line_of(folder / "__init__.py", "TABLES", None) if "TABLES" in values else ""
    if not literals.is_string_sequence(tables):
        raise LadderError(
            f"`TABLES` in {place} is {tables!r}: it must be {literals.NAMES_FORM}. See docs/contracts.md."
        )
    if tables and not (folder / "tables.py").is_file():
        raise LadderError(
            f"`TABLES` in {place} names {min(tables)!r}, but there is no {folder}/tables.py: write it, with "
            f"`{min(tables)}(study)`. See docs/contracts.md."
        )
    functions = {name: Name(REQUIRED, "study", must_return=True) for name in tables}
    contracts = CHAPTER_MODULES | {"tables": Contract("a chapter's `tables.py`", functions)}
    for path in sorted(filter(Path.is_file, folder.glob("*.py"))):
        if path.stem in contracts:
            require_names(path, contracts[path.stem])
        elif "TITLE" in definitions(path):
            require_names(path, FIGURE)
        else:
            refuse_misspelt(path, FIGURE_HELPER)


def require_names(path: Path, contract: Contract) -> None:
    """Refuse a module that breaks its contract; a missing file is accepted. Raises LadderError."""
    if not path.is_file():
        return
    refuse_misspelt(path, contract)
    defined = definitions(path)
    for name, entry in contract.names.items():
        if name in defined:
            require_function(path, name, entry, defined)
        elif entry.need == REQUIRED and entry.alternative not in defined and "*" not in defined:
            noun, other = "" if entry.arguments is None else "function ", entry.alternative
            alternative = f", unless it has {signature(other, contract.names[other])}" if other else ""
            raise LadderError(
                f"{path} has no {noun}`{name}`: {contract.subject} must have {signature(name, entry)}{alternative}. "
                "See docs/contracts.md."
            )


def refuse_misspelt(path: Path, contract: Contract) -> None:
    """Refuse a misspelt name of the contract. Raises LadderError with the line and the right name."""
    defined = definitions(path)
    absent = {name: entry for name, entry in contract.names.items() if name not in defined}
    for name, node in defined.items():
        is_imported = isinstance(node, ast.Import | ast.ImportFrom)
        if name in contract.names or name.startswith("_") or is_imported or isinstance(node, ast.ClassDef):
            continue
        is_function = isinstance(node, syntax.FUNCTIONS)
        candidates = {other.lower(): other for other, entry in absent.items() if entry.arguments or not is_function}
        for match in similar_names(name.lower(), candidates, 1, MIN_SIMILARITY):
            correct_name = candidates[match]
            if contract.names[correct_name].need == REQUIRED or not is_name_used(name, path):
                raise LadderError(
                    f"`{name}` in line {node.lineno} of {path} isn't a name that {contract.subject} may have: "
                    f"did you mean `{correct_name}`?"
                )


def require_function(path: Path, name: str, entry: Name, defined: Mapping[str, ast.AST]) -> None:
    """Refuse a literal in place of a function, and a function with other arguments. Raises LadderError."""
    node, arguments = defined[name], entry.arguments
    if arguments is None:
        return
    if entry.must_return and isinstance(node, syntax.FUNCTIONS) and not can_return(node):
        raise LadderError(
            f"{signature(name, entry)} in line {node.lineno} of {path} returns nothing: it lacks a `return` with a "
            "value. See docs/contracts.md."
        )
    if entry.arguments_if and entry.arguments_if[0] in defined:
        arguments = entry.arguments_if[1]
    if isinstance(node, syntax.FUNCTIONS) and not accepts(node.args, arguments):
        definition = f"{name}({ast.unparse(node.args)})"
    elif isinstance(node, ast.Assign) and isinstance(node.value, LITERAL_NODES):
        definition = name
    else:  # it fits, or it is imported or computed, so that its arguments are unknown
        return
    hint = " Its tunings are keyword-only arguments." * ("<tuning>" in arguments)
    raise LadderError(f"`{definition}` in line {node.lineno} of {path} must be `{name}({arguments})`.{hint}")


def accepts(actual: ast.arguments, arguments: str) -> bool:
    """Whether a function's `actual` arguments fit the contract's `arguments`, a text that may end with keywords.

    An argument may be called differently, but not similarly to another argument of the contract: then it is misspelt or
    in the wrong place.
    """
    expected = [argument for argument in arguments.split(", ") if argument[0] not in "*<"]
    names = [argument.arg for argument in [*actual.posonlyargs, *actual.args]]
    for name, expected_name in zip(names, expected, strict=False):
        if name.strip("_") != expected_name and similar_names(name, expected, 1, MIN_SIMILARITY):
            return False
    if "<tuning>" in arguments:
        return len(names) == len(expected)
    if "**" in arguments:
        return True
    is_enough = len(names) >= len(expected) or actual.vararg is not None
    return is_enough and len(names) - len(actual.defaults) <= len(expected) and None not in actual.kw_defaults


def can_return(function: ast.AST) -> bool:
    """Whether a function may return a value: it has a `return` with one, or stops with an error."""
    nodes = [node for node in syntax.nested_statements(function) if node is not function]
    return any(isinstance(node, ast.Raise) or (isinstance(node, ast.Return) and node.value) for node in nodes)


def signature(name: str, entry: Name) -> str:
    """A name as docs/contracts.md writes it."""
    return f"`{name}`" if entry.arguments is None else f"`{name}({entry.arguments})`"


@functools.cache
def definitions(path: Path) -> dict[str, Any]:
    """The names that a module binds at its top level, also inside of `if`, `with` and `try`, {name: statement}."""
    defined: dict[str, Any] = {}
    for statement in literals.statements(path):
        is_definition = isinstance(statement, (*syntax.FUNCTIONS, ast.ClassDef))
        for node in [statement] if is_definition else syntax.nested_statements(statement):
            for name in names_bound_or_imported(node):
                defined.setdefault(name, node)
    return defined


def names_bound_or_imported(node: ast.AST) -> set[str]:
    """The names that a statement binds, including those that it imports (`syntax.bound_names` excludes them)."""
    if isinstance(node, ast.Import | ast.ImportFrom):
        return {(alias.asname or alias.name).partition(".")[0] for alias in node.names}
    return syntax.bound_names(node)


def is_name_used(name: str, path: Path) -> bool:
    """Whether a module's name is used: in the module, in another module of the folder, or in a chapter's template."""
    other_modules = (other for other in path.parent.rglob("*.py") if other.is_file() and other != path)
    templates = (template.read_text(encoding="utf-8") for template in path.parent.glob("*.tex"))
    return (
        reads_name(path, name)
        or any(imports_name(other, name) for other in other_modules)
        or any(re.search(rf"\b{name}\b", template) for template in templates)
    )


def reads_name(path: Path, name: str) -> bool:
    """Whether a module reads a global name; functions with a local variable of that name don't count."""
    scopes = [
        statement
        for statement in literals.statements(path)
        if not isinstance(statement, syntax.FUNCTIONS) or name not in syntax.local_names(statement)
    ]
    names = (node for node in walk_all(scopes) if isinstance(node, ast.Name) and node.id == name)
    return any(isinstance(node.ctx, ast.Load) for node in names)


def imports_name(path: Path, name: str) -> bool:
    """Whether a module imports a name, or reads it as an attribute, from another module."""
    return any(
        (isinstance(node, ast.ImportFrom) and name in {alias.name for alias in node.names})
        or (isinstance(node, ast.Attribute) and node.attr == name)
        for node in walk_all(literals.statements(path))
    )


def walk_all(statements: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """All nodes of the syntax trees of statements."""
    return (node for statement in statements for node in ast.walk(statement))
