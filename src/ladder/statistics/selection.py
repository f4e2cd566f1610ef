"""The choice of the best of several cases; other processes than those of the choice test it, without selection bias."""

from collections.abc import Hashable, Mapping, Sequence

from ladder.statistics.quotients import median_time


def split_processes(processes: Sequence) -> tuple[list, list]:
    """A case's processes, in order, split into those for the choice and those for the test.

    The second, the fourth and so on are for the choice: of three processes, one chooses and two test. A single process
    does both, but its interval is infinite and so confirms nothing.
    """
    return list(processes[1::2]) or list(processes), list(processes[::2])


def choose_best(cases: Mapping[Hashable, Sequence[Sequence[float]]]) -> tuple[Hashable, list]:
    """The key of the case with the shortest time in the processes for the choice, and its processes for the test."""
    best = min(cases, key=lambda key: median_time(split_processes(cases[key])[0]))
    return best, split_processes(cases[best])[1]
