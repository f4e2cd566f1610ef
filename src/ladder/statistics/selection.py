"""Who is best is chosen on other processes than those that test it: else luck that made it best also confirms it."""

from collections.abc import Hashable, Mapping, Sequence

from ladder.statistics.claims import middle


def apart(processes: Sequence) -> tuple[list, list]:
    """Of a case's processes in their order those that choose and those that test: the second, fourth and so on choose.

    Of three, one chooses and two test. One alone does both: it has no interval that could confirm anything.
    """
    return list(processes[1::2]) or list(processes), list(processes[::2])


def chosen_apart(cases: Mapping[Hashable, Sequence[Sequence[float]]]) -> tuple[Hashable, list]:
    """The key of the case with the shortest time by the processes that choose, and its processes that test."""
    best = min(cases, key=lambda key: middle(apart(cases[key])[0]))
    return best, apart(cases[best])[1]
