"""The forms of the constants of workloads and variants, and whether names in them exist; read as text.

A wrong form would otherwise be used: of `REQUIRES = ("scipy")`, a string, every letter would be taken for a library.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ladder.catalogue import contracts, literals
from ladder.catalogue.literals import is_string_sequence
from ladder.errors import LadderError, did_you_mean

RUNTIMES = ("numba", "blas", "openmp", "torch", "cuda")
CEILINGS = ("flops", "multiply-adds", "bandwidth", "raises bandwidth")  # `store/ceilings.py` explains them
# The annotations that a tuning may have.
TUNING_ANNOTATION = re.compile(r"int|float|str|Literal\[('[^']*'(, )?)+\]")


def is_string_mapping(value: Any) -> bool:
    """Whether a value is a mapping of strings to strings."""
    return isinstance(value, dict) and is_string_sequence([*value, *value.values()])


def is_limits_mapping(value: Any) -> bool:
    """Whether a value maps names to a pair of numbers or to words."""
    return isinstance(value, dict) and all(
        isinstance(allowed, tuple | list)
        and (
            is_string_sequence(allowed)
            or (len(allowed) == 2 and all(isinstance(item, int | float) for item in allowed))
        )
        for allowed in value.values()
    )


# Forms: (whether a value has the form, the form in words).
STRINGS = (is_string_sequence, literals.NAMES_FORM)
STRING_MAPPING = (is_string_mapping, "a mapping of strings to strings")
STRING = (lambda value: isinstance(value, str), "a string")
BOOLEAN = (lambda value: isinstance(value, bool), "`True` or `False`")
# The form of each constant.
FORMS = {
    "RUNGS": (is_string_mapping, "a mapping of each variant to a line on its idea"),
    "ARRAYS": STRINGS,
    "STATEFUL": BOOLEAN,
    "CEILING": (lambda value: value in CEILINGS, f"one of {', '.join(CEILINGS)}"),
    "CURVE": STRINGS,
    "FACTS": STRINGS,
    "GENERATED": STRINGS,
    "SENSITIVITY": (lambda value: isinstance(value, list), "a list of `(variant, tuning, sizes)`"),
    "RUNTIME": (lambda value: value in RUNTIMES, f"one of {', '.join(RUNTIMES)}"),
    "SOURCE": (lambda value: isinstance(value, str), "the name of a file of its folder"),
    "MACROS": STRINGS,
    "KERNELS": STRINGS,
    "LIMITS": (is_limits_mapping, "a mapping of sizes or tunings to `(min, max)` or to a tuple of words"),
    "PRECISION": STRING_MAPPING,
    "USES": STRING_MAPPING,
    "REQUIRES": STRINGS,
    "PROGRAMS": STRINGS,
    "PEER": BOOLEAN,
    "ENVIRONMENT": STRING_MAPPING,
    # Of a chapter and its figures.
    "TITLE": STRING,
    "CATEGORY": STRING,
    "CAPTION": STRING,
    "EXPERIMENTS": STRINGS,
    "USES_CEILINGS": BOOLEAN,
    "USES_DATA": BOOLEAN,
    "USES_ARTEFACTS": STRINGS,
}


def require_forms(path: Path) -> None:
    """Refuse a module whose constants don't have their forms. Raises LadderError."""
    for name, value in literals.read(path).items():
        has_form, form = FORMS.get(name, (lambda value: True, ""))
        if not has_form(value):
            raise LadderError(f"{location(name, path)} is {value!r}: it must be {form}. See docs/contracts.md.")


def require_sizes(path: Path, sizes: Mapping[str, Any]) -> None:
    """Refuse a workload's SIZES of a wrong form. Raises LadderError."""
    if not isinstance(sizes, dict) or not is_string_sequence([*sizes]):
        raise LadderError(f"{location('SIZES', path)} must be a mapping of names to kinds. See docs/contracts.md.")
    for name, kind in sizes.items():
        is_kind = kind in (int, float) or (isinstance(kind, str | int | float) and not isinstance(kind, bool))
        if not is_kind and not (isinstance(kind, tuple) and kind):
            raise LadderError(
                f"{location('SIZES', path)} has {kind!r} as the kind of {name!r}: it must be `int`, `float`, a tuple "
                "of words, a string or a number. See docs/contracts.md."
            )
    if not isinstance(sizes.get("dtype"), tuple):
        raise LadderError(f"{location('SIZES', path)} must have `dtype`, a tuple of dtypes. See docs/contracts.md.")


def require_known_names(name: str, names: Iterable[str], known: Iterable[str], path: Path, problem: str) -> None:
    """Refuse names in a module's constant `name` that aren't known; `problem` says so, such as "no workload"."""
    for unknown in (other for other in names if other not in known):
        raise LadderError(
            f"{location(name, path)} names {unknown!r}, which is {problem}.{did_you_mean(unknown, known)}"
        )


def location(name: str, path: Path) -> str:
    """A constant with its line and file, for a message."""
    return f"`{name}` in line {contracts.definitions(path)[name].lineno} of {path}"


def require_rungs(path: Path, workload: str, variants: Sequence[str]) -> None:
    """Refuse a ladder, RUNGS of the file `path`, with a rung that isn't a variant."""
    require_known_names("RUNGS", literals.read(path).get("RUNGS", ()), variants, path, f"no variant of {workload}")


def require_kernels_and_uses(path: Path, workload: str, variants: Sequence[str], workloads: Sequence[str]) -> None:
    """Refuse a variant's KERNELS that aren't `variants` of its workload, and USES of other than the `workloads`."""
    values = literals.read(path)
    require_known_names("KERNELS", values.get("KERNELS", ()), variants, path, f"no variant of {workload}")
    require_known_names("USES", values.get("USES", {}).values(), workloads, path, "no workload")


def require_variant_constants(path: Path, sizes: Iterable[str], tunings: Mapping[str, tuple[str | None, bool]]) -> None:
    """Refuse a variant's constants that name other sizes or tunings than there are, and its tunings' annotations.

    `tunings` is {name: (annotation, whether it is required)}.
    """
    values = literals.read(path)
    names = [*sizes, *tunings]
    require_known_names(
        "LIMITS", values.get("LIMITS", ()), names, path, "neither a size of its workload nor one of its tunings"
    )
    require_known_names("MACROS", values.get("MACROS", ()), tunings, path, "none of its tunings")
    require_known_names("USES", values.get("USES", ()), tunings, path, "none of its tunings")
    for text in values.get("ENVIRONMENT", {}).values():
        require_known_names("ENVIRONMENT", re.findall(r"\{(\w*)\}", text), tunings, path, "none of its tunings")
    if "SOURCE" in values and not (path.parent / values["SOURCE"]).is_file():
        raise LadderError(f"{location('SOURCE', path)} names {values['SOURCE']!r}, and {path.parent} has no such file.")
    for tuning, (annotation, _) in tunings.items():
        if not annotation or not TUNING_ANNOTATION.fullmatch(annotation):
            problem = f"is annotated with {annotation}" if annotation else "has no annotation"
            raise LadderError(
                f"The tuning {tuning!r} of `setup` in line {contracts.definitions(path)['setup'].lineno} of {path} "
                f"{problem}: it must have `int`, `float`, `str` or a `Literal` of words."
            )


def require_size(workload: str, name: str, kind: Any, value: Any) -> Any:
    """The value of a size, converted to its kind in SIZES. Raises LadderError if it is None or doesn't fit."""
    if value is None:
        raise LadderError(f"{workload} needs a value for its size {name!r}.")
    if isinstance(kind, tuple):
        if value not in kind:
            raise LadderError(f"{name}={value!r} of {workload} must be one of {', '.join(map(str, kind))}.")
        return value
    if isinstance(kind, str):
        return str(value)
    minimum = 1 if kind is int else 0
    is_count = kind is int or isinstance(kind, int)
    is_number = isinstance(value, int if is_count else int | float) and not isinstance(value, bool)
    if not is_number or not minimum <= value < float("inf") or (kind is float and not value):
        need = "a number above 0" if kind is float else f"a {'whole ' if is_count else ''}number of at least {minimum}"
        raise LadderError(f"{name}={value!r} of {workload} must be {need}.")
    return value if is_count else float(value)


def default_of(kind: Any) -> Any:
    """The default of a size of this kind, None if it is required."""
    return kind[0] if isinstance(kind, tuple) else None if isinstance(kind, type) else kind
