"""The contracts: the names that a workload, a variant and a chapter must and may have, and what a module gets wrong.

docs/contracts.md says what every name means. Modules are read as text, so nothing is imported. A name that a contract
doesn't have belongs to a helper, unless it resembles one that the module lacks and no code of the folder uses it: then
it is misspelt, and nobody would ever ask for it.
"""

import ast
import difflib
import functools
import re
from pathlib import Path
from typing import NamedTuple

from ladder.catalogue import literals, syntax
from ladder.errors import LadderError

REQUIRED, OPTIONAL = "required", "optional"
# Optional names of a workload, which are found in this module where the workload lacks them.
DEFAULT, DEFAULTS = "default", "ladder.harness.defaults"
# How similar two names must be for one to be the other one misspelt.
MIN_SIMILARITY = 0.75
LITERAL = (ast.Constant, ast.Tuple, ast.List, ast.Dict, ast.Set)


class Name(NamedTuple):
    """A name of a contract: a constant or, with `arguments` as docs/contracts.md writes them, a function.

    It isn't required where the module has the name `unless`. With the name `beside` the arguments are others:
    (name, arguments). `default` is the value of a constant that a figure lacks.
    """

    need: str = OPTIONAL
    arguments: str | None = None
    unless: str | None = None
    beside: tuple[str, str] | None = None
    default: object = None


class Contract(NamedTuple):
    """The names of one kind of module, {name: Name}; `owner` is who has them, in messages."""

    owner: str
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
        "rounds": Name(DEFAULT, "sizes"),
        "arrays": Name(REQUIRED, "sizes"),
        "fill": Name(REQUIRED, "inputs, sizes, round, data"),
        "generate": Name(OPTIONAL, "problem, round"),
        "state": Name(OPTIONAL, "sizes"),
        "cost": Name(REQUIRED, "sizes", beside=("FACTS", "sizes, facts")),
        "expected": Name(REQUIRED, "sizes, inputs, precision", unless="check"),
        "check": Name(DEFAULT, "sizes, inputs, outputs, round, data, reference, precision"),
    },
)
VARIANT = Contract(
    "a variant",
    {
        "DEVICE": Name(REQUIRED),
        "RUNTIME": Name(),  # `workloads.constants` requires it, or USES
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
        "geometry": Name(OPTIONAL, "sizes, **tuning"),
        "setup": Name(REQUIRED, "problem, *, <tuning>"),
    },
)
REFERENCE = Contract("a reference", {"compute": Name(REQUIRED, "sizes, data")})
ARTEFACTS = Contract("a module of artefacts", {"ARTEFACTS": Name(REQUIRED), "make": Name(REQUIRED, "name, path, data")})
FORMATS = Contract(
    "a module of file formats",
    {
        "VARIANTS": Name(REQUIRED),
        "BY_IMAGE": Name(REQUIRED),
        "read": Name(REQUIRED, "network, inputs"),
        "require_output": Name(REQUIRED, "path, images"),
        "write": Name(REQUIRED, "file, suffix, images, chunks"),
    },
)
# The modules of a workload's folder, beside its problem and its variants.
MODULES = {"reference": REFERENCE, "artefacts": ARTEFACTS, "formats": FORMATS}

FIGURE = Contract(
    "a figure",
    {
        "TITLE": Name(REQUIRED),
        "CATEGORY": Name(),  # that of the chapter where a figure has none
        "CAPTION": Name(REQUIRED),
        "EXPERIMENTS": Name(default=()),
        "USES_CEILINGS": Name(default=False),
        "USES_DATA": Name(default=False),
        "USES_ARTEFACTS": Name(default=()),
        "draw": Name(REQUIRED, "**given"),  # the study, or what the constants name
    },
)
# A module without a TITLE supports figures, unless that is misspelt.
FIGURE_HELPER = Contract(FIGURE.owner, {name: entry._replace(need=OPTIONAL) for name, entry in FIGURE.names.items()})
# The modules of a chapter, beside its figures and the functions of `tables.py`, which TABLES names.
CHAPTER = {
    "__init__": Contract(
        "a chapter", {"ORDER": Name(), "TITLE": Name(), "CATEGORY": Name(), "TABLES": Name(), "LOOKS": Name()}
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
            "per_unit": Name(OPTIONAL, "rows"),
            "part_of": Name(OPTIONAL, "phases"),
        },
    ),
    "claims": Contract("a chapter's `claims.py`", {"CLAIMS": Name(REQUIRED)}),
    "model": Contract("a model", {"predict": Name(REQUIRED, "machine, row"), "floor": Name(OPTIONAL, "machine, row")}),
    # Templates ask for whatever stands in these.
    "text": Contract("a chapter's `text.py`", {}),
    "earlier": Contract("a chapter's `earlier.py`", {}),
}


def with_default():
    """The names that a workload may leave to `DEFAULTS`."""
    return [name for name, entry in WORKLOAD.names.items() if entry.need == DEFAULT]


def constants(contract=VARIANT):
    """The names of a contract that aren't functions."""
    return [name for name, entry in contract.names.items() if entry.arguments is None]


def require_workload(folder):
    """Refuse a workload's folder whose own modules or chapter break their contracts. Raises LadderError."""
    require(folder / "__init__.py", WORKLOAD)
    for name, contract in MODULES.items():
        require(folder / f"{name}.py", contract)
    require_chapter(folder / "paper")


def require_chapter(folder):
    """Refuse a chapter of which a module breaks its contract. Raises LadderError."""
    tables = {name: Name(REQUIRED, "study") for name in literals.read(folder / "__init__.py").get("TABLES", ())}
    contracts = CHAPTER | {"tables": Contract("a chapter's `tables.py`", tables)}
    for path in sorted(filter(Path.is_file, folder.glob("*.py"))):
        if path.stem in contracts:
            require(path, contracts[path.stem])
        elif "TITLE" in definitions(path):
            require(path, FIGURE)
        else:
            refuse_misspelt(path, FIGURE_HELPER)


def require(path, contract):
    """Refuse a module that breaks its contract; a file that doesn't exist breaks none. Raises LadderError."""
    if not path.is_file():
        return
    refuse_misspelt(path, contract)
    defined = definitions(path)
    for name, entry in contract.names.items():
        if name in defined:
            require_function(path, name, entry, defined)
        elif entry.need == REQUIRED and entry.unless not in defined and "*" not in defined:
            kind, other = "" if entry.arguments is None else "function ", entry.unless
            alternative = f", unless it has {signature(other, contract.names[other])}" if other else ""
            raise LadderError(
                f"{path} has no {kind}`{name}`: {contract.owner} must have {signature(name, entry)}{alternative}. "
                "See docs/contracts.md."
            )


def refuse_misspelt(path, contract):
    """Refuse a name that resembles one of the contract. Raises LadderError with the line and the right name."""
    defined = definitions(path)
    absent = {name: entry for name, entry in contract.names.items() if name not in defined}
    for name, node in defined.items():
        is_imported = isinstance(node, ast.Import | ast.ImportFrom)
        if name in contract.names or name.startswith("_") or is_imported or isinstance(node, ast.ClassDef):
            continue
        is_function = isinstance(node, syntax.FUNCTIONS)
        candidates = {right.lower(): right for right, entry in absent.items() if entry.arguments or not is_function}
        for near in difflib.get_close_matches(name.lower(), candidates, 1, MIN_SIMILARITY):
            right = candidates[near]
            if contract.names[right].need == REQUIRED or not is_name_used(name, path):
                raise LadderError(
                    f"`{name}` in line {node.lineno} of {path} isn't a name that {contract.owner} may have: "
                    f"did you mean `{right}`?"
                )


def require_function(path, name, entry, defined):
    """Refuse a literal in place of a function, and a function with other arguments. Raises LadderError."""
    node, arguments = defined[name], entry.arguments
    if arguments is None:
        return
    if entry.beside and entry.beside[0] in defined:
        arguments = entry.beside[1]
    if isinstance(node, syntax.FUNCTIONS) and not accepts(node.args, arguments):
        definition = f"{name}({ast.unparse(node.args)})"
    elif isinstance(node, ast.Assign) and isinstance(node.value, LITERAL):
        definition = name
    else:  # or it is imported or computed: its arguments aren't known
        return
    hint = " Its tunings are keyword-only arguments." * ("<tuning>" in arguments)
    raise LadderError(f"`{definition}` in line {node.lineno} of {path} must be `{name}({arguments})`.{hint}")


def accepts(function, arguments):
    """Whether a function's arguments, an `ast.arguments`, are those of a contract, which may end with keywords.

    An argument may have a name of its own, but none that resembles one of the contract's: it would be misspelt, or in
    the wrong place.
    """
    wanted = [argument for argument in arguments.split(", ") if argument[0] not in "*<"]
    names = [argument.arg for argument in [*function.posonlyargs, *function.args]]
    for name, right in zip(names, wanted, strict=False):
        if name.strip("_") != right and difflib.get_close_matches(name, wanted, 1, MIN_SIMILARITY):
            return False
    if "<tuning>" in arguments:
        return len(names) == len(wanted)
    if "**" in arguments:
        return True
    is_enough = len(names) >= len(wanted) or function.vararg is not None
    return is_enough and len(names) - len(function.defaults) <= len(wanted) and None not in function.kw_defaults


def signature(name, entry):
    """A name as docs/contracts.md writes it."""
    return f"`{name}`" if entry.arguments is None else f"`{name}({entry.arguments})`"


@functools.cache
def definitions(path):
    """What a module binds at its top level, also inside of `if`, `with` and `try`: {name: statement}."""
    defined = {}
    for statement in literals.statements(path):
        is_whole = isinstance(statement, (*syntax.FUNCTIONS, ast.ClassDef))
        for node in [statement] if is_whole else syntax.nested_statements(statement):
            names = syntax.bound_names(node)
            if isinstance(node, ast.Import | ast.ImportFrom):
                names = {(alias.asname or alias.name).partition(".")[0] for alias in node.names}
            for name in names:
                defined.setdefault(name, node)
    return defined


def is_name_used(name, path):
    """Whether a module uses a name that it defines, or another one of its folder, or a template of the chapter."""
    others = (other for other in path.parent.rglob("*.py") if other.is_file() and other != path)
    templates = (template.read_text(encoding="utf-8") for template in path.parent.glob("*.tex"))
    return (
        reads(path, name)
        or any(imports(other, name) for other in others)
        or any(re.search(rf"\b{name}\b", template) for template in templates)
    )


def reads(path, name):
    """Whether a module reads a global name; a function that has a local of that name doesn't."""
    scopes = [
        statement
        for statement in literals.statements(path)
        if not isinstance(statement, syntax.FUNCTIONS) or name not in syntax.local_names(statement)
    ]
    names = (node for node in nodes(scopes) if isinstance(node, ast.Name) and node.id == name)
    return any(isinstance(node.ctx, ast.Load) for node in names)


def imports(path, name):
    """Whether a module takes a name from another one."""
    return any(
        (isinstance(node, ast.ImportFrom) and name in {alias.name for alias in node.names})
        or (isinstance(node, ast.Attribute) and node.attr == name)
        for node in nodes(literals.statements(path))
    )


def nodes(statements):
    """Every node of their syntax trees."""
    return (node for statement in statements for node in ast.walk(statement))
