"""The tunings of variants: the keyword-only arguments of `setup`, read without importing the module."""

import ast
import functools
from collections.abc import Mapping
from typing import Any

from ladder.catalogue import literals, workloads
from ladder.errors import LadderError, did_you_mean

# Tunings that are counts, at least 1.
COUNTS = ("threads", "ranks", "chunks", "gpus")
# The annotations of tunings: the type that each requires, and its name in messages.
KINDS: dict[str | None, tuple[Any, str]] = {
    "int": (int, "a whole number"),
    "float": (int | float, "a number"),
    "str": (str, "a word"),
}


def arguments(workload: str, variant: str) -> list[tuple[ast.arg, ast.expr | None]]:
    """The keyword-only arguments of a variant's `setup`, read without importing it: [(argument, default or None)]."""
    path = workloads.variant_path(workload, variant)
    for node in literals.statements(path):
        if isinstance(node, ast.FunctionDef) and node.name == "setup":
            return list(zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True))
    raise LadderError(
        f"{path} has no `def setup(problem, *, <tuning>)` at its top level, from which its tunings are read as "
        "text. See docs/contracts.md."
    )


@functools.cache
def tunings(workload: str, variant: str) -> dict[str, tuple[str | None, bool]]:
    """The tunings of a variant's `setup`, {name: (kind, is required)}; `kind` is the annotation's text."""
    return {
        argument.arg: (ast.unparse(argument.annotation) if argument.annotation else None, default is None)
        for argument, default in arguments(workload, variant)
    }


def literal_words(kind: str | None) -> tuple[str, ...]:
    """The words of a tuning annotated `Literal["a", "b"]`; empty for any other annotation."""
    return (
        ast.literal_eval(f"({kind.removeprefix('Literal[').removesuffix(']')},)")
        if kind and kind.startswith("Literal[")
        else ()
    )


def defaults(workload: str, variant: str) -> dict[str, Any]:
    """The tunings that have a default: {name: value}."""
    pairs = arguments(workload, variant)
    return {argument.arg: ast.literal_eval(default) for argument, default in pairs if default is not None}


def require_defaults(workload: str, variant: str) -> None:
    """Refuse a default of the variant's `setup` that is computed, or not of its tuning's kind."""
    path = workloads.variant_path(workload, variant)
    for argument, default in arguments(workload, variant):
        if default is None:
            continue
        subject = f"The default of {argument.arg!r} in line {default.lineno} of {path}"
        try:
            value = ast.literal_eval(default)
        except ValueError:
            raise LadderError(f"{subject} is computed, but it is read as text: write out its value.") from None
        try:
            require_value(f"{workload}/{variant}", argument.arg, tunings(workload, variant)[argument.arg][0], value)
        except LadderError as error:
            raise LadderError(f"{subject} doesn't fit: {error}") from None


def require_tuning(workload: str, variant: str, tuning: Mapping[str, Any]) -> None:
    """Refuse a tuning that the variant's `setup` doesn't accept."""
    accepted, name = tunings(workload, variant), f"{workload}/{variant}"
    if unknown := sorted(set(tuning) - set(accepted)):
        raise LadderError(
            f"{name} has no tuning named {', '.join(unknown)}: it takes {', '.join(accepted) or 'none'}."
            f"{did_you_mean(unknown[0], accepted)}"
        )
    for key, (kind, is_required) in accepted.items():
        if key not in tuning:
            if is_required:
                raise LadderError(f"{name} needs a value for its tuning {key!r}: it takes {', '.join(accepted)}.")
            continue
        require_value(name, key, kind, tuning[key])


def require_value(variant_name: str, tuning_name: str, kind: str | None, value: Any) -> None:
    """Refuse a value of a tuning that isn't of its kind; the names are those in messages."""
    if (words := literal_words(kind)) and value not in words:
        raise LadderError(f"{tuning_name}={value!r} of {variant_name} must be one of {', '.join(words)}.")
    types, expected = KINDS.get(kind, (object, "anything"))
    if not isinstance(value, types) or (tuning_name in COUNTS and value < 1):
        minimum = " of at least 1" * (tuning_name in COUNTS)
        raise LadderError(f"{tuning_name}={value!r} of {variant_name} must be {expected}{minimum}.")
