"""Steps, the result of a variant's `setup`: the timed steps, and the steps that prepare them, by phase."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

from ladder.catalogue import code_errors, declarations
from ladder.errors import LadderError


@dataclass(frozen=True)
class Steps:
    """The timed and untimed steps of a run; `run` and `prepare` are lists of (phase, function).

    `run` is timed as a whole and by phase. As a whole, `at_once` runs in its place if given, such as a graph's launch.
    `prepare` runs after the inputs have been written, outside the timed call: for example, a transposition or the first
    distribution of a matrix. It is only timed by phase.

    `trace` makes one untimed run and returns rows (lane, name, start, end) that say when each of its parts ran, in
    seconds since its start; see `traces.py`.
    """

    run: list
    prepare: list = field(default_factory=list)
    at_once: Callable | None = None
    trace: Callable | None = None

    @classmethod
    def of(cls, steps: Any) -> Steps:
        """The Steps of what `setup` returned: Steps, a list of timed (phase, function), or one function.

        Raises TypeError for anything else.
        """
        if isinstance(steps, cls):
            return steps
        phases = [(None, steps)] if callable(steps) else steps
        if not isinstance(phases, list | tuple) or not all(map(is_phase, phases)):
            raise TypeError(
                f"returns {declarations.short_text(steps)}: it must return a callable, a list of `(phase, callable)`, "
                "or `Steps`"
            )
        return cls(list(phases))

    @classmethod
    def of_variant(cls, variant: ModuleType, problem: Any, tuning: Mapping[str, Any]) -> Steps:
        """The Steps of a variant. Raises LadderError if its `setup` returns anything else."""
        steps = variant.setup(problem, **tuning)
        try:
            return cls.of(steps)
        except TypeError as error:
            line = code_errors.line_of_function(variant.setup)
            raise LadderError(
                f"`setup(problem, *, <tuning>)` in line {line} of {variant.__file__} {error}. See docs/contracts.md."
            ) from None

    def timed(self) -> Callable[[], object]:
        """One function that runs all timed steps."""
        return self.at_once or chain_steps(self.run)

    def by_phase(self) -> list[list[tuple[str, Callable[[], object]]]]:
        """The steps that have a phase: two lists, of `prepare` and of `run`."""
        return [[(name, step) for name, step in steps if name] for steps in (self.prepare, self.run)]


def is_phase(step: Any) -> bool:
    """Whether a step is a pair of a phase, a string or None, and a function."""
    return isinstance(step, tuple) and len(step) == 2 and isinstance(step[0], str | None) and callable(step[1])


def chain_steps(steps: Sequence[tuple[str | None, Callable[[], object]]]) -> Callable[[], object]:
    """One function that runs all steps in order."""
    calls = [step for _, step in steps]
    if len(calls) == 1:
        return calls[0]

    def run() -> None:
        for call in calls:
            call()

    return run
