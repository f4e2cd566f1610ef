"""Checks of what a workload's functions return: its arrays, its cost and its results.

`trial` adds checks that fill inputs and call `expected` and `check`.
"""

import inspect
import math
from collections.abc import Collection, Mapping
from numbers import Integral, Real
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

import numpy as np

from ladder.catalogue import code_errors, contracts, literals
from ladder.errors import LadderError

# Attributes of a problem: no array may have one of these names.
RESERVED_NAMES = ("sizes", "device", "inputs", "outputs", "output_kinds")
# The reason of a `Check` with NaN or infinity in what is expected, or in its bound.
UNCHECKABLE = "can't be checked"


class Declarations:
    """Checks of what the functions of a workload's `module`, whose file is `path`, return."""

    def __init__(self, module: ModuleType, path: Path) -> None:
        self.module, self.path = module, path

    def refuse(self, name: str, reason: str) -> NoReturn:
        """Raise LadderError: the function or constant `name` breaks the contract for a reason."""
        entry = contracts.WORKLOAD.names[name]
        line = code_errors.line_of_function(getattr(self.module, name)) or contracts.definitions(self.path)[name].lineno
        what = contracts.signature(name, entry)
        raise LadderError(f"{what} in line {line} of {self.path} {reason}. See docs/contracts.md.")

    def kinds(self, sizes: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        """The checked result of `arrays`: inputs and outputs, each {name: (shape, dtype)}."""
        result = self.module.arrays(dict(sizes))
        if not isinstance(result, tuple) or len(result) != 2 or not all(isinstance(part, dict) for part in result):
            self.refuse(
                "arrays", f"returns {short_text(result)}: it must return a pair of mappings, inputs and outputs"
            )
        inputs, outputs = result
        for name, pair in [*inputs.items(), *outputs.items()]:
            self.require_shape_and_dtype(name, pair)
        if clashes := sorted(({*inputs} & {*outputs}) | ({*RESERVED_NAMES} & {*inputs, *outputs})):
            self.refuse("arrays", f"calls an array {clashes[0]!r}: every array needs a name of its own")
        names = getattr(self.module, "ARRAYS", [*inputs, *outputs])
        if missing := [name for name in [*inputs, *outputs] if name not in names]:
            self.refuse("ARRAYS", f"lacks {missing[0]!r}, an array of `arrays`: variants couldn't use it")
        for name in ("FACTS", "GENERATED"):
            where, known = ("outputs", outputs) if name == "FACTS" else ("inputs", inputs)
            if unknown := [other for other in getattr(self.module, name) if other not in known]:
                self.refuse(name, f"names {unknown[0]!r}, which is not among the {where} of `arrays`")
        if self.module.GENERATED and not hasattr(self.module, "generate"):
            self.refuse("GENERATED", "is given, but there is no function `generate(problem, round)`")
        return inputs, outputs

    def require_shape_and_dtype(self, name: str, pair: Any) -> None:
        """Check `pair`, the shape and the dtype of the array `name`."""
        if not isinstance(pair, tuple) or len(pair) != 2:
            self.refuse("arrays", f"returns {short_text(pair)} for {name!r}: it must return `(shape, dtype)`")
        shape, dtype = pair
        if not isinstance(shape, tuple) or not all(is_count(length) for length in shape):
            self.refuse("arrays", f"returns the shape {shape!r} for {name!r}: it must be a tuple of whole numbers")
        try:
            np.dtype(dtype)
        except TypeError:
            self.refuse("arrays", f"returns the dtype {dtype!r} for {name!r}, which NumPy doesn't know")
        if np.dtype(dtype).kind not in "fiu":
            self.refuse(
                "arrays",
                f"returns the dtype {dtype!r} for {name!r}: it must be one of floating-point numbers or integers",
            )

    def require_cost(self, sizes: Mapping[str, Any]) -> None:
        """Check the result of `cost`."""
        # Any value will do for a fact, because only the form of the result is checked.
        facts = [dict.fromkeys(self.module.FACTS, 1)] if self.module.FACTS else []
        cost = self.module.cost(dict(sizes), *facts)
        for name in ("flops", "bytes", "precision"):
            if not hasattr(cost, name) or not hasattr(cost, "__dict__"):
                self.refuse(
                    "cost",
                    f"returns {short_text(cost)}: it must return a `SimpleNamespace` with `flops`, `bytes` and "
                    "`precision`",
                )
        for name in ("flops", "bytes"):
            if not is_number(value := getattr(cost, name)) or not 0 <= value < math.inf:
                self.refuse("cost", f"returns {short_text(value)} as `{name}`: it must be a number of at least 0")
        if not isinstance(cost.precision, str):
            self.refuse(
                "cost", f"returns {short_text(cost.precision)} as `precision`: it must be a string, such as the dtype"
            )

    def require_filled_names(self, names: Any, inputs: Collection[str]) -> None:
        """Check `names`, which `fill` returned, against the names of the inputs."""
        if not literals.is_string_sequence(names):
            self.refuse(
                "fill", f"returns {short_text(names)}: it must return the names of the inputs that it has written"
            )
        if unknown := [name for name in names if name not in inputs]:
            self.refuse("fill", f"returns the name {unknown[0]!r}, which is not among the inputs of `arrays`")

    def require_checks(self, result: Any, round: int) -> None:
        """Check the form of `result`, which `check` returned: a pair, in round 0 with at least one Check."""
        if not isinstance(result, tuple) or len(result) != 2 or not isinstance(result[0], list | tuple):
            self.refuse(
                "check", f"returns {short_text(result)}: it must return a list of `Check`s and the points of a curve"
            )
        if other := [item for item in result[0] if not hasattr(item, "passed") or not hasattr(item, "bound")]:
            self.refuse(
                "check",
                f"returns {short_text(other[0])} among its checks: each must be a `Check`, such as `compare` returns",
            )
        for item in result[0]:
            if not math.isfinite(item.bound) or getattr(item, "reason", "") == UNCHECKABLE:
                # The default `check`, a `partial`, calls `expected`.
                name = "check" if inspect.isfunction(self.module.check) else "expected"
                self.refuse(name, f"gives {item.name!r} an expected value or a bound that is NaN or infinite")
        if round == 0 and not result[0]:
            self.refuse("check", "returns no `Check`, so that any result would pass: return one for each output")


def is_count(value: Any) -> bool:
    """Whether a value is a whole number of at least 0."""
    return isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= 0


def is_number(value: Any) -> bool:
    """Whether a value is a number."""
    return isinstance(value, Real) and not isinstance(value, bool)


def short_text(value: Any) -> str:
    """A value for a message: an array by its shape, another one by its text, or by its type if that is long."""
    if isinstance(value, np.ndarray):
        return f"an array of the shape {value.shape}"
    text = repr(value)
    return text if len(text) <= 60 else f"a {type(value).__name__}"
