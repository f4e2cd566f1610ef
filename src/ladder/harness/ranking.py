"""Rank cases by their time: fresh processes measure them in turns until their differences are known precisely enough.

Measuring ends when the smallest difference that would be detected is small enough, or can't become so within the
limits. Only widths of intervals decide, never who is ahead, because repeated testing would inflate the rate of false
verdicts. Verdicts refer to a baseline that is known before anything is measured; a comparison with the fastest would
favour the case that was lucky.
"""

import math
import time
from dataclasses import dataclass, field
from functools import partial

from ladder.build import compilation
from ladder.catalogue import soundness
from ladder.errors import LadderError, pluralize
from ladder.harness import turns
from ladder.harness.case_arguments import labels
from ladder.harness.comparison import require_same_conditions
from ladder.harness.leases import lease_devices
from ladder.harness.measure import cost_of_results
from ladder.harness.precompile import precompile
from ladder.harness.preconditions import require_met
from ladder.harness.progress import percent
from ladder.records.case import Case
from ladder.statistics import intervals
from ladder.statistics.verdicts import THRESHOLD, compare

# Turns between two looks at the precision: one in each order of the cases.
BLOCK = 2
# A target is out of reach if the width that is expected at the limits exceeds it by this factor, since that is a guess.
OUT_OF_REACH = 2
# The part of a block's time that must be left for another one as long as a case has fewer processes than it needs.
FIRST_BLOCKS = 0.5
# Processes from which on widths are extrapolated; with fewer, a single slow process determines the width.
MIN_PROCESSES = 10


@dataclass(frozen=True)
class Limits:
    """How long a ranking measures.

    A process takes `samples` samples, or fewer, but at least three, once they have taken `seconds`. Each case gets at
    least `processes` and at most `most_processes`. The target is to detect a relative difference of `detect`; `cap` is
    the maximum number of seconds, except for the first block of turns.
    """

    samples: int = 10
    seconds: float = 2.0
    processes: int = 6
    most_processes: int = 30
    detect: float = 0.05
    cap: float = 120.0

    def protocol(self):
        """The protocol of a worker."""
        counts = {"processes": 1, "samples": self.samples, "least": min(3, self.samples), "most": self.samples}
        return counts | {"target": 0.0, "cap": self.seconds, "phase_passes": 1, "energy": False}


QUICK = Limits(samples=5, seconds=0.3, processes=4, most_processes=6, detect=0.1, cap=12.0)


@dataclass
class Ranking:
    """Cases with the results of their processes so far, and the sentences on cases that failed, {case: sentence}.

    All cases are compared with `baseline`, unless it is None. `labels` are their names in messages, and `end` says why
    measuring has ended.
    """

    cases: list
    baseline: Case | None
    limits: Limits
    labels: dict = field(default_factory=dict)
    results: dict = field(init=False)
    failures: dict = field(init=False, default_factory=dict)
    end: str | None = field(init=False, default=None)

    def __post_init__(self):
        self.labels = self.labels or labels(self.cases)
        self.results = {case: [] for case in self.cases}

    @property
    def remaining(self):
        """The cases that haven't failed."""
        return [case for case in self.cases if case not in self.failures]

    @property
    def measured(self):
        """The cases that have results and haven't failed, fastest first."""
        return sorted(filter(self.results.get, self.remaining), key=lambda case: self.summary(case).median)

    @property
    def processes(self):
        """The number of processes that have measured each case, without cases that failed."""
        return min(len(self.results[case]) for case in self.remaining)

    def times(self, case):
        """The samples of each process of a case, in seconds."""
        return [result["samples"] for result in self.results[case]]

    def summary(self, case):
        """The median of a case with its interval, a Summary."""
        return intervals.summary(self.times(case))

    def verdict(self, case):
        """The Verdict on a case and the baseline, whose time is the denominator of the ratio."""
        return compare(self.times(case), self.times(self.baseline))

    def cost(self, case):
        """FLOPs and bytes of a case."""
        return cost_of_results(case, self.results[case])

    def worst_check(self, case):
        """The check of a case that is nearest to its bound, {name, error, bound}; None for a case without outputs."""
        checks = [check for result in self.results[case] for check in result["checks"]]
        return max(checks, key=lambda check: check["error"] / check["bound"] if check["bound"] else 0.0, default=None)

    def precision(self):
        """The smallest relative difference from the baseline that would be detected, of all cases the largest.

        Without another case or a baseline, the relative half width of the intervals.
        """
        cases = self.remaining
        if self.baseline is None or len(cases) == 1:
            return max(self.summary(case).relative_half_width for case in cases)
        return max(self.verdict(case).detectable for case in cases if case != self.baseline)


def rank(ranking, files, report, launcher=None):
    """Measure the cases of a ranking, which keeps the results so far if it is interrupted.

    The caller holds the machine.
    `files` is {case: (paths of data, path of the reference)}. `report` has the methods `say(sentence)` and
    `update(ranking)`, which is called after each group of processes. A case that fails is dropped.
    Raises LadderError if the baseline fails, or if every case does.
    """
    for case in ranking.cases:
        attempt(ranking, case, lambda case=case: require_measurable(case, files[case][1]), report)
    protocol = ranking.limits.protocol()
    for case in filter(compilation.is_needed, ranking.remaining):
        if not compilation.note_path(case).exists():
            report.say(f"Compiles {case.workload}/{case.variant}, once for all sizes.")
        precompile(case, protocol)
    with lease_devices(*ranking.remaining) as leases:
        start = partial(turns.start_worker, protocol=protocol, launcher=launcher, prelude=())
        began = time.monotonic()
        while ranking.end is None:
            block_start = time.monotonic()
            measure_block(ranking, files, start, leases, launcher, report)
            require_comparable(ranking)
            now = time.monotonic()
            ranking.end = reason_to_end(ranking, began + ranking.limits.cap - now, now - block_start)


def require_measurable(case, reference):
    """Refuse a case that can't exist, or can't be measured on this machine."""
    soundness.require_sound(case)
    require_met(case, reference)


def attempt(ranking, case, action, report):
    """Run an action for a case; an error of it drops the case."""
    try:
        action()
    except LadderError as error:
        drop(ranking, case, str(error), report)


def drop(ranking, case, reason, report):
    """Note that a case failed. Raises LadderError if it is the baseline or if no case remains."""
    sentence = f"{ranking.labels[case]}: {reason}"
    ranking.failures[case] = reason
    if case == ranking.baseline or not ranking.remaining:
        raise LadderError(sentence)
    report.say(sentence)


def measure_block(ranking, files, start, leases, launcher, report):
    """Add the results of BLOCK processes of each case, in fresh workers."""
    first_turn, memory = ranking.processes, turns.free_memory()
    pending = [(first_turn + turn, case) for turn, case in turns.in_turns(ranking.remaining, BLOCK)]
    walls = dict.fromkeys(ranking.cases, 0.0)
    while pending:
        group = next(turns.groups(pending, launcher, memory))
        try:
            turns.measure_group(group, files, start, leases, ranking.results, walls)
        except turns.CaseError as error:
            drop(ranking, error.case, error.reason, report)
        pending = [
            (turn, case)
            for turn, case in pending
            if case not in ranking.failures and len(ranking.results[case]) <= turn
        ]
        report.update(ranking)


def require_comparable(ranking):
    """Refuse processes that ran under different conditions, of one case or of several."""
    results = {f"The processes of {ranking.labels[case]}": (case, ranking.results[case]) for case in ranking.remaining}
    require_same_conditions(results, "The cases")


def reason_to_end(ranking, seconds_left, block_seconds):
    """Why measuring ends now, as a sentence; None if it goes on. A block of turns takes `block_seconds`."""
    limits, count, precision = ranking.limits, ranking.processes, ranking.precision()
    target = percent(limits.detect)
    if count >= limits.processes and precision <= limits.detect:
        return f"The target is reached, a precision of {target}."
    if count < limits.processes:
        block_seconds *= FIRST_BLOCKS  # the first block is slower than later ones
    blocks_left = min((limits.most_processes - count) // BLOCK, int(seconds_left / max(block_seconds, 1e-9)))
    if blocks_left < 1:
        limit = "number of processes" if count + BLOCK > limits.most_processes else "time"
        return f"The {limit} is used up before the target, a precision of {target}."
    expected = expected_precision(precision, count, count + BLOCK * blocks_left)
    if count >= MIN_PROCESSES and expected > OUT_OF_REACH * limits.detect:
        processes = pluralize(count + BLOCK * blocks_left, "process")
        return f"The target, a precision of {target}, is out of reach: {processes} would give {percent(expected)}."
    return None


def expected_precision(precision, count, later_count):
    """The precision expected of more processes: the width of an interval shrinks with the root of their number."""
    if not math.isfinite(precision):
        return precision
    threshold = min(THRESHOLD, precision)
    width = math.log((1 + precision) / (1 + threshold))
    return (1 + threshold) * math.exp(width * math.sqrt(count / later_count)) - 1
