"""Errors of a workload's or a variant's own code as sentences that name the file, the line and the contract."""

import functools
import inspect
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ladder.errors import LadderError

# What a mistake in code raises. An error of the system, such as a full disk, isn't the code's.
MISTAKES = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    ImportError,
    LookupError,
    NameError,
    NotImplementedError,
    RecursionError,
    SyntaxError,
    TypeError,
    ValueError,
)


def line_of(error: BaseException, folder: Path) -> tuple[Path, int | None] | None:
    """The (path, line) of the innermost call of an error in a folder's files; None if there is none."""
    frames = list(traceback.extract_tb(error.__traceback__))
    if isinstance(error, SyntaxError) and error.filename:
        frames.append(traceback.FrameSummary(error.filename, error.lineno, ""))
    frames = [frame for frame in frames if Path(frame.filename).parent == folder]
    return (Path(frames[-1].filename), frames[-1].lineno) if frames else None


def sentence(error: BaseException, what: str, path: Path | None) -> str:
    """A sentence on an error of `what`, with the innermost place in the folder of its file, `path` (None: unknown)."""
    text = f"{what} stopped with {type(error).__name__}: {error}"
    if path is None:
        return text
    file, line = line_of(error, path.parent) or (path, None)
    return f"{text} ({f'line {line} of ' if line else ''}{file})"


def guarded(function: Callable[..., Any], signature: str, path: Path) -> Callable[..., Any]:
    """A workload's function whose mistakes are raised as LadderError; `signature` is the contract's."""

    @functools.wraps(function)
    def call(*arguments: Any, **options: Any) -> Any:
        try:
            return function(*arguments, **options)
        except MISTAKES as error:
            what = f"`{signature}` of the workload"
            raise LadderError(f"{sentence(error, what, path)}. See docs/contracts.md.") from error

    call.__dict__["is_guarded"] = True
    return call


def line_of_function(function: Any) -> int | None:
    """The line in which a function is defined; None for anything else."""
    code = getattr(inspect.unwrap(function), "__code__", None) if callable(function) else None
    return code and code.co_firstlineno
