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
from ladder.errors import LadderError, pluralize
from ladder.harness import spot_checks, turns
from ladder.harness.case_arguments import labels
from ladder.harness.comparison import difference, require_same_conditions
from ladder.harness.leases import lease_devices
from ladder.harness.measure import cost_of_results
from ladder.harness.plausibility import require_plausible
from ladder.harness.precompile import precompile
from ladder.harness.progress import percent
from ladder.records.case import Case
from ladder.statistics import intervals
from ladder.statistics.verdicts import THRESHOLD, compare

# Turns between two looks at the precision: one in each order of the cases.
TURNS_PER_BLOCK = 2
# A target is out of reach if the width expected at the limits, which is only a guess, exceeds it by this factor.
OUT_OF_REACH_FACTOR = 2
# Until each case has `Limits.processes`, another block begins if this share of the last block's time is left: the first
# block is slower than later ones.
EARLY_BLOCK_SHARE = 0.5
# The minimum number of processes of a case for its interval and its verdict; the interval of two says nothing.
VERDICT_PROCESSES = 3
# The minimum number of processes for extrapolating widths; with fewer, a single slow process determines the width.
EXTRAPOLATION_PROCESSES = 10
# The message if the time is up before a verdict.
TOO_FEW_PROCESSES = (
    f"The time is used up, but a verdict needs {VERDICT_PROCESSES} processes of each case: goes on until then."
)


@dataclass(frozen=True)
class Limits:
    """How long a ranking measures.

    A process takes `samples` samples, or fewer, but at least three, once they have taken `seconds`. Each case gets at
    most `most_processes`. Measuring ends once a relative difference of `detect`, the target, would be detected and each
    case has `processes`; `cap` is the maximum number of seconds, except for the first VERDICT_PROCESSES turns.
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

    All cases are compared with `baseline`, which is None while a sweep tries its combinations; if it fails, the next
    case takes its place. `labels` are the cases' names in messages, `ceilings` those of this machine or None, which no
    sample may beat, `warnings` is {case: sentence} on other sizes at which cases failed, and `end_reason` says why
    measuring ended, once it has.
    """

    cases: list
    baseline: Case | None
    limits: Limits
    labels: dict = field(default_factory=dict)
    ceilings: dict | None = None
    results: dict = field(init=False)
    failures: dict = field(init=False, default_factory=dict)
    warnings: dict = field(init=False, default_factory=dict)
    end_reason: str | None = field(init=False, default=None)

    def __post_init__(self):
        self.labels = self.labels or labels(self.cases)
        self.results = {case: [] for case in self.cases}

    @property
    def remaining(self):
        """The cases that haven't failed."""
        return [case for case in self.cases if case not in self.failures]

    @property
    def measured(self):
        """The cases that have results and haven't failed, fastest first, but those with a warning last."""
        return sorted(
            filter(self.results.get, self.remaining),
            key=lambda case: (case in self.warnings, self.summary(case).median),
        )

    @property
    def unmeasured(self):
        """The cases that haven't failed and have no result yet."""
        return [case for case in self.remaining if not self.results[case]]

    @property
    def processes(self):
        """The number of processes that have measured each case, without cases that failed."""
        return min(len(self.results[case]) for case in self.remaining)

    @property
    def turns_left(self):
        """The number of processes that may still measure each case."""
        return self.limits.most_processes - self.processes

    def times(self, case):
        """The samples of each process of a case, in seconds."""
        return [result["samples"] for result in self.results[case]]

    def summary(self, case):
        """The median of a case with its interval, a Summary."""
        return intervals.summary(self.times(case))

    def has_interval(self, case):
        """Whether enough processes have measured a case for an interval."""
        return len(self.results[case]) >= VERDICT_PROCESSES

    def has_verdict(self, case):
        """Whether a case can be compared with the baseline."""
        pair = [self.baseline, case]
        return case != self.baseline and self.baseline in self.measured and all(map(self.has_interval, pair))

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
        if not self.is_comparison:
            return max(self.summary(case).relative_half_width for case in cases)
        return max(self.verdict(case).detectable for case in cases if case != self.baseline)

    @property
    def is_comparison(self):
        """Whether a baseline and another case remain."""
        return self.baseline is not None and len(self.remaining) > 1

    def describe_precision(self, precision):
        """A precision, as `precision()` returns it, in words."""
        if self.is_comparison:
            return f"{difference(precision)} would be detected"
        return f"medians known within {percent(precision)}" if precision < 1 else "medians not known within 100 %"


def rank(ranking, files, progress, launcher=None):
    """Measure the cases of a ranking, which keeps the results so far if it is interrupted.

    The caller holds the machine. `files` is {case: (paths of data, path of the reference)}. `progress` has the methods
    `say(sentence)`, `say_once(sentence)` and `update(ranking)`, which is called after each group of processes. A case
    that fails is dropped. Raises LadderError if every case fails.
    """
    protocol = ranking.limits.protocol()
    for case in filter(compilation.is_needed, ranking.remaining):
        if not compilation.note_path(case).exists():
            progress.say_once(f"Compiles {case.workload}/{case.variant}; later runs reuse the compiled code.")
        precompile(case, protocol)
    with lease_devices(*ranking.remaining) as leases:
        new_worker = partial(turns.start_worker, launcher=launcher, prelude=())
        if ranking.baseline:  # of a sweep, only the finalists are checked
            new_untimed_worker = partial(new_worker, protocol=protocol | spot_checks.ONE_SAMPLE)
            ranking.warnings = spot_checks.warnings(
                ranking.remaining, new_untimed_worker, leases, launcher, progress.say
            )
        for case, sentence in ranking.warnings.items():
            progress.say(f"{ranking.labels[case]}: {sentence}")
        new_worker = partial(new_worker, protocol=protocol)
        start_time, turn_count = time.monotonic(), TURNS_PER_BLOCK
        while ranking.end_reason is None:
            block_start = time.monotonic()
            measure_block(ranking, min(turn_count, ranking.turns_left), files, new_worker, leases, launcher, progress)
            require_comparable(ranking)
            now = time.monotonic()
            ranking.end_reason = reason_to_end(ranking, start_time + ranking.limits.cap - now, now - block_start)
            missing_turns = min(VERDICT_PROCESSES - ranking.processes, ranking.turns_left)
            if ranking.end_reason and missing_turns > 0:
                progress.say_once(TOO_FEW_PROCESSES)
                ranking.end_reason, turn_count = None, missing_turns


def drop_failing_cases(ranking, action, progress):
    """Run `action(case)` for each case, an error of which drops the case. Raises LadderError if no case remains."""
    for case in ranking.remaining:
        try:
            action(case)
        except LadderError as error:
            drop_case(ranking, case, str(error), progress)


def drop_case(ranking, case, reason, progress):
    """Note that a case failed; the next one replaces a baseline. Raises LadderError if no case remains."""
    sentence = f"{ranking.labels[case]}: {reason}"
    ranking.failures[case] = reason
    if not ranking.remaining:
        raise LadderError(sentence)
    progress.say(sentence)
    if case == ranking.baseline:
        ranking.baseline = ranking.remaining[0]
        progress.say(f"The others are compared with {ranking.labels[ranking.baseline]} in its place.")


def measure_block(ranking, turn_count, files, new_worker, leases, launcher, progress):
    """Add the results of `turn_count` processes of each case, in fresh workers."""
    first_turn, max_bytes = ranking.processes, turns.free_bytes()
    pending = [(first_turn + turn, case) for turn, case in turns.turn_order(ranking.remaining, turn_count)]
    wall_seconds = dict.fromkeys(ranking.cases, 0.0)
    while pending:
        group = next(turns.group_processes(pending, launcher, max_bytes))
        try:
            turns.measure_groups([group], files, new_worker, leases, ranking.results, wall_seconds)
        except turns.CaseError as error:
            drop_case(ranking, error.case, error.reason, progress)
        drop_failing_cases(ranking, partial(require_below_ceilings, ranking), progress)
        pending = [
            (turn, case)
            for turn, case in pending
            if case not in ranking.failures and len(ranking.results[case]) <= turn
        ]
        progress.update(ranking)


def require_below_ceilings(ranking, case):
    """Refuse samples of a case that are impossible by the machine's ceilings. Raises LadderError."""
    if ranking.ceilings and ranking.results[case]:
        require_plausible(case, ranking.results[case], ranking.cost(case), ranking.ceilings)


def require_comparable(ranking):
    """Refuse processes that ran under different conditions, of one case or of several."""
    results = {f"The processes of {ranking.labels[case]}": (case, ranking.results[case]) for case in ranking.remaining}
    require_same_conditions(results, "The cases")


def reason_to_end(ranking, seconds_left, block_seconds):
    """Why measuring ends now, as a sentence; None if it goes on. A block of turns takes `block_seconds`."""
    limits, count, precision = ranking.limits, ranking.processes, ranking.precision()
    target = ranking.describe_precision(limits.detect)
    if count >= limits.processes and precision <= limits.detect:
        return f"The target is reached: {target}."
    if count < limits.processes:
        block_seconds *= EARLY_BLOCK_SHARE
    blocks_left = min(-(-ranking.turns_left // TURNS_PER_BLOCK), int(seconds_left / max(block_seconds, 1e-9)))
    if blocks_left < 1:
        return f"{limit_sentence(ranking, limits.cap - seconds_left)} The target was: {target}."
    later_count = min(count + TURNS_PER_BLOCK * blocks_left, limits.most_processes)
    expected = expected_precision(precision, count, later_count)
    if count >= EXTRAPOLATION_PROCESSES and expected > OUT_OF_REACH_FACTOR * limits.detect:
        processes = pluralize(later_count, "process")
        return f"The target is out of reach: {target}. With {processes}, {ranking.describe_precision(expected)}."
    return None


def limit_sentence(ranking, seconds):
    """A sentence on the limit that ended measuring after so many seconds, and the option with which to go on."""
    limits = ranking.limits
    if not ranking.turns_left:
        used_up = f"The {pluralize(limits.most_processes, 'process')} are used up"
        return f"{used_up}: rerun with --processes {2 * limits.most_processes} for more precision."
    needed = max(seconds * (limits.most_processes + TURNS_PER_BLOCK) / ranking.processes, 2 * limits.cap, 1)
    scale = 10 ** math.floor(math.log10(needed))
    cap = math.ceil(needed / scale) * scale  # one digit is enough
    return f"The {limits.cap:g} s are used up: rerun with --cap {cap} for more precision."


def expected_precision(precision, count, later_count):
    """The precision expected of more processes: the width of an interval shrinks with the root of their number."""
    if not math.isfinite(precision):
        return precision
    threshold = min(THRESHOLD, precision)
    width = math.log((1 + precision) / (1 + threshold))
    return (1 + threshold) * math.exp(width * math.sqrt(count / later_count)) - 1
