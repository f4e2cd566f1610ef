"""Sweeps over tunings: all combinations are tried in a few processes, and the fastest are measured again.

The time by which the fastest was chosen favours it, so only fresh processes decide how fast it is. With a budget of
time the combinations are tried in random order (J. Bergstra and Y. Bengio, Random Search for Hyper-Parameter
Optimization, Journal of Machine Learning Research 13, 2012).
"""

import random
import time
from dataclasses import replace

from ladder.catalogue import setup_arguments
from ladder.errors import LadderError, pluralize
from ladder.harness.ranking import TURNS_PER_BLOCK, Ranking, rank
from ladder.machine import cpus


def sweep_limits(limits):
    """The limits of each case of a sweep: one block of turns."""
    return replace(limits, processes=TURNS_PER_BLOCK, most_processes=TURNS_PER_BLOCK, seconds=min(limits.seconds, 0.5))


def explore(ranking, files, progress, launcher=None, budget=None):
    """Measure the cases of a sweep; with a budget, at least one and as many as can be begun in that number of seconds.

    Cases that weren't begun are removed from the ranking. Arguments are those of `rank`; raises LadderError likewise.
    """
    if budget is None:
        rank(ranking, files, progress, launcher)
        return
    cases, deadline = ranking.remaining, time.monotonic() + budget
    shuffled_cases, started_cases = random.Random(1).sample(cases, len(cases)), set(ranking.failures)
    # As many cases as cores at a time, because their processes prepare together; in between, the deadline is checked.
    for start in range(0, len(shuffled_cases), cpus.cores()):
        batch = replace(ranking, cases=shuffled_cases[start : start + cpus.cores()])
        started_cases.update(batch.cases)
        try:
            rank(batch, files, progress, launcher)
        except LadderError:
            if batch.remaining:
                raise
        finally:
            ranking.results |= batch.results
            ranking.failures |= batch.failures
        if time.monotonic() > deadline and ranking.measured:
            break
    ranking.cases = [case for case in ranking.cases if case in started_cases]
    if not ranking.measured:
        raise LadderError("Every combination failed; the sentences above say why.")


def headline(ranking, count):
    """The line above the table of a sweep of `count` cases."""
    tried = pluralize(count, "case")
    if len(ranking.cases) < count:
        tried = f"{len(ranking.cases)} of {tried} within the budget"
    return f"{tried}, {pluralize(TURNS_PER_BLOCK, 'process')} each, by which the fastest is chosen but not tested:"


def final_ranking(ranking, limits):
    """The Ranking, not yet measured, of the fastest cases of a sweep.

    With several variants, these are the fastest of each. Of a single one they are its fastest case and, as the
    baseline, the case that has the defaults of all tunings, or else the second fastest.
    """
    by_variant = {}
    for case in ranking.measured:
        by_variant.setdefault(case.variant, case)
    finalists = sorted(by_variant.values(), key=ranking.cases.index)
    if len(finalists) == 1:
        winner, *others = ranking.measured
        finalists = [*(list(filter(has_defaults, others)) or others)[:1], winner]
    return Ranking(finalists, finalists[0], limits, ranking.labels, ranking.ceilings)


def has_defaults(case):
    """Whether a case's tunings all equal their defaults, where they have one; False if none has one."""
    defaults = setup_arguments.defaults(case.workload, case.variant)
    return bool(defaults) and all(case.tuning.get(name, value) == value for name, value in defaults.items())
