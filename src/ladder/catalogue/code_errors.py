"""Errors of a workload's or a variant's own code as sentences that name the file, the line and the contract."""

import functools
import inspect
import re
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ladder.errors import LadderError, did_you_mean

# What a mistake in code raises. An error of the system, such as a full disk, is no such mistake.
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
# The file and the line at which Numba's compiler stopped, in its message.
NUMBA_PLACE = re.compile(r"(?m)^During: .* at (.+) \((\d+)\)$")

# Python's message on a keyword that a function or a class lacks.
UNKNOWN_KEYWORD = re.compile(r"^(\w+)(?:\.__init__)?\(\) got an unexpected keyword argument '(\w+)'")


def line_of(error: BaseException, folder: Path) -> tuple[Path, int | None] | None:
    """The (path, line) of the innermost call of an error in a folder's files; None if there is none.

    Numba names the line that it can't compile in its message; the calls only lead to the function.
    """
    numba_places = [(Path(path), int(line)) for path, line in NUMBA_PLACE.findall(str(error)) if is_from_numba(error)]
    if places := [place for place in numba_places if place[0].parent == folder]:
        return places[0]
    frames = list(traceback.extract_tb(error.__traceback__))
    if isinstance(error, SyntaxError) and error.filename:
        frames.append(traceback.FrameSummary(error.filename, error.lineno, ""))
    frames = [frame for frame in frames if Path(frame.filename).parent == folder]
    return (Path(frames[-1].filename), frames[-1].lineno) if frames else None


def describe(error: BaseException, subject: str, path: Path | None) -> str:
    """A sentence on an error of `subject`, with its innermost line in the folder of the file `path` (None: unknown)."""
    text = f"{subject} stopped with {type(error).__name__}: {summary(error)}"
    if path is None:
        return text
    file, line = line_of(error, path.parent) or (path, None)
    return f"{text} ({f'line {line} of ' if line else ''}{file})"


def is_from_numba(error: BaseException) -> bool:
    """Whether an error is one of Numba's compiler."""
    return type(error).__module__.startswith("numba.")


def summary(error: BaseException) -> str:
    """The message of an error; if it is Numba's, only the sentence that says what can't be compiled."""
    if not is_from_numba(error):
        return str(error)
    lines = [line.strip() for line in str(error).splitlines()]
    first, *rest = [line for line in lines if line and not line.startswith("Failed in ")] or [""]
    signature = f" {rest[0].removeprefix('>>> ')}" if first.endswith(":") and rest else ""
    return f"{first.rstrip('.')}{signature}"


def advice_on_import(error: BaseException, is_variant: bool = False) -> str:
    """What to do about a missing library or a circular import, with a space before it; empty for any other error."""
    if isinstance(error, ImportError) and "partially initialized module" in str(error):
        return " Two modules import each other: move what both use to a third one, or import it within a function."
    if not isinstance(error, ModuleNotFoundError) or not error.name or error.name.startswith("ladder."):
        return ""
    name = error.name.partition(".")[0]
    advice = f'; with REQUIRES = ("{name}",) the variant is skipped where it is missing' * is_variant
    return f" Install {name}{advice}."


def advice_on_keyword(error: BaseException) -> str:
    """A question with keywords like the unknown one of an error, with a space before it; empty if there are none."""
    if not isinstance(error, TypeError) or not (match := UNKNOWN_KEYWORD.search(str(error))):
        return ""
    caller = [frame for frame, _ in traceback.walk_tb(error.__traceback__)][-1]
    called = caller.f_locals.get(match[1], caller.f_globals.get(match[1]))
    return did_you_mean(match[2], inspect.signature(called).parameters) if callable(called) else ""


def wrap_mistakes(function: Callable[..., Any], signature: str, path: Path) -> Callable[..., Any]:
    """A workload's function whose mistakes are raised as LadderError; `signature` is the contract's."""

    @functools.wraps(function)
    def call(*arguments: Any, **options: Any) -> Any:
        try:
            return function(*arguments, **options)
        except MISTAKES as error:
            subject = f"`{signature}` of the workload"
            raise LadderError(f"{describe(error, subject, path)}. See docs/contracts.md.") from error

    call.__dict__["is_guarded"] = True  # so that `workloads.load` wraps each function once
    return call


def line_of_function(function: Any) -> int | None:
    """The line in which a function is defined; None for anything else."""
    code = getattr(inspect.unwrap(function), "__code__", None) if callable(function) else None
    return code and code.co_firstlineno
