"""The constants of a module, read from its syntax tree, so that planning needs neither CUDA nor MPI."""

import ast
import contextlib
import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ladder.errors import LadderError

# The form of several names, in words: of `("first")`, a string, every letter would be taken for a name.
NAMES_FORM = 'names in a tuple, such as `("first",)`; a tuple of one name ends with a comma'


def is_string_sequence(value: Any) -> bool:
    """Whether a value is a tuple or a list of strings."""
    return isinstance(value, tuple | list) and all(isinstance(item, str) for item in value)


@functools.cache
def read(path: Path) -> dict[str, Any]:
    """A module's upper-case names that are bound to literals, {name: value}; empty if there is no such file.

    Raises LadderError when the file isn't Python.
    """
    values = {}
    for node in statements(path) if path.is_file() else ():
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id.isupper():
            with contextlib.suppress(ValueError):  # skips values that are computed
                values[node.targets[0].id] = ast.literal_eval(node.value)
    return values


@functools.cache
def statements(path: Path) -> list[ast.stmt]:
    """The top-level statements of a file as syntax trees, cached: callers must not modify them."""
    return parse(path, statements_of)


@functools.cache
def statements_of(text: str) -> list[ast.stmt]:
    """The top-level statements of a text. They are cached by the text, so an unchanged file isn't parsed again."""
    return ast.parse(text).body


def parse(path: Path, parser: Callable[[str], list[ast.stmt]] = statements_of.__wrapped__) -> list[ast.stmt]:
    """The top-level statements of a file, by default as new syntax trees. Raises LadderError unless it is Python."""
    text = path.read_text(encoding="utf-8-sig")
    try:
        return parser(text)
    except SyntaxError as error:
        place = f" in line {error.lineno}" if error.lineno else ""
        raise LadderError(f"{path} isn't valid Python: {error.msg}{place}.") from None
    except ValueError as error:  # a null byte, before Python 3.11.4
        raise LadderError(f"{path} isn't valid Python: {error}.") from None


def assigns(path: Path, name: str) -> bool:
    """Whether a module assigns a name at its top level."""
    return any(isinstance(node, ast.Assign) and is_assigned(node, name) for node in statements(path))


def is_assigned(node: ast.Assign, name: str) -> bool:
    """Whether an assignment assigns a name."""
    return any(isinstance(target, ast.Name) and target.id == name for target in node.targets)


def line_of(path: Path, name: str, text: Any) -> str:
    """The words `line 3 of PATH` for a text in the value of a module's name; without the text the line of the name.

    If the module doesn't assign the name, the result is the path alone.
    """
    node = next((node for node in statements(path) if isinstance(node, ast.Assign) and is_assigned(node, name)), None)
    if node is None:
        return str(path)
    texts = (part for part in ast.walk(node.value) if isinstance(part, ast.Constant) and part.value == text)
    return f"line {next(texts, node).lineno} of {path}"
