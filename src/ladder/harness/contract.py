"""The types of what workloads and variants get and return (docs/contracts.md).

A workload's SIZES has the kind of each size: `int` or `float` if it is required, a tuple of the allowed words, the
first of which is the default, or the default itself, a number or a string.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from ladder.errors import did_you_mean
from ladder.harness.steps import Steps
from ladder.harness.validation import Check

if TYPE_CHECKING:
    from ladder.devices.host import Host

Sizes: TypeAlias = Mapping[str, Any]  # all sizes of a case, by name
Kinds: TypeAlias = Mapping[str, tuple[tuple[int, ...], str]]  # shape and dtype of each array
Arrays: TypeAlias = Mapping[str, np.ndarray]  # in the host's memory
Round: TypeAlias = tuple[list[Check], Any]  # its checks, and its points of the curve: None, one or a list
Run: TypeAlias = Callable[[], object] | Sequence[tuple[str | None, Callable[[], object]]] | Steps  # what is timed


class Problem(SimpleNamespace):
    """The argument of a variant's `setup`, with every array of the workload as an attribute, too.

    `output_kinds` is {name: (shape, dtype)}, also on ranks that have no arrays.
    """

    sizes: Sizes
    device: Host
    inputs: Mapping[str, Any]
    outputs: Mapping[str, Any]
    output_kinds: Kinds

    def __getattr__(self, name: str) -> Any:
        """Called for a name that the problem lacks. Raises AttributeError with a similar name."""
        raise AttributeError(f"`problem` has no attribute {name!r}.{did_you_mean(name, vars(self))}".rstrip("."))
