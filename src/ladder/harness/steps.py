"""What a variant's `setup` gives the harness: what is timed, by phase, and what must be prepared before."""

from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Steps:
    """Lists of (phase, function).

    `run` is what is timed, in one call and by phase. Where there is a function `at_once`, such as a graph's launch,
    it is that one call. `prepare` is done whenever the inputs have been written, outside the timed call, for example
    a transposition or the first distribution of a matrix; it is timed among the phases.

    `trace` makes one run that isn't timed, and returns what ran when: rows (lane, name, start, end) in seconds since
    that run's start, see `traces.py`.
    """

    run: list
    prepare: list = field(default_factory=list)
    at_once: Callable | None = None
    trace: Callable | None = None

    @classmethod
    def of(cls, found):
        """The steps that `setup` has given, be it these, a list of what is timed, or one function without a name."""
        if isinstance(found, cls):
            return found
        return cls([(None, found)] if callable(found) else found)

    def timed(self):
        """One function that does what is timed."""
        return self.at_once or in_order(self.run)

    def by_phase(self):
        """The steps that are timed by phase: a list of those that prepare, and one of the others."""
        return [[(name, step) for name, step in steps if name] for steps in (self.prepare, self.run)]


def in_order(steps):
    """One function that takes all steps."""
    calls = [step for _, step in steps]
    if len(calls) == 1:
        return calls[0]

    def run():
        for call in calls:
            call()

    return run
