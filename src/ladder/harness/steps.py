"""What a variant's `setup` returns: the timed steps, by phase, and the steps that prepare them."""

from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Steps:
    """Lists of (phase, function).

    `run` is timed, both in one call and by phase. If there is a function `at_once`, such as a graph's launch, it is
    that one call. `prepare` runs whenever the inputs have been written, outside the timed call: a transposition, for
    example, or the first distribution of a matrix. It is timed among the phases.

    `trace` makes one untimed run and returns what ran when: rows (lane, name, start, end) in seconds since the start of
    that run, see `traces.py`.
    """

    run: list
    prepare: list = field(default_factory=list)
    at_once: Callable | None = None
    trace: Callable | None = None

    @classmethod
    def of(cls, steps):
        """The Steps of what `setup` returned: Steps, a list of timed (phase, function), or one function."""
        if isinstance(steps, cls):
            return steps
        return cls([(None, steps)] if callable(steps) else steps)

    def timed(self):
        """One function that runs all timed steps."""
        return self.at_once or in_order(self.run)

    def by_phase(self):
        """The steps with a phase: one list of those that prepare, and one of the others."""
        return [[(name, step) for name, step in steps if name] for steps in (self.prepare, self.run)]


def in_order(steps):
    """One function that runs all steps in order."""
    calls = [step for _, step in steps]
    if len(calls) == 1:
        return calls[0]

    def run():
        for call in calls:
            call()

    return run
