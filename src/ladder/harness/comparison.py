"""Compare two cases, A and B, with fresh workers that measure in the order ABBA.

Measuring continues until a difference of a given size would be detected, or until the limit on pairs or on time is
reached. The outcome so far never ends it, because repeated testing would inflate the rate of false verdicts.
"""

import itertools
import math
import time
from dataclasses import asdict, dataclass, field

import numpy as np

from ladder.catalogue import sources, traits, workloads
from ladder.errors import LadderError
from ladder.harness.leases import hold_machine, lease_devices
from ladder.harness.preconditions import require_cpus, require_preconditions
from ladder.harness.progress import SilentProgress, percent
from ladder.harness.workers import Worker
from ladder.machine import description, revision
from ladder.quantities import digits, seconds
from ladder.records import agreement
from ladder.records.case import VARIABLE, Case
from ladder.statistics.verdicts import EQUAL, UNDECIDED, Verdict, compare

# The order of workers in alternating blocks of two pairs. A drift that is steady over a block slows both cases equally.
# The second block swaps the cases, because the first worker of a block may see the machine in another state.
BLOCKS = ("abba", "baab")
PAIRS_PER_BLOCK = 2


@dataclass(frozen=True)
class Comparison:
    """The cases `a` and `b`, their samples in seconds (`times["a"][i]` are those of process i), and the verdict.

    With `paired`, the verdict compares them pair by pair. `conditions` holds the conditions under which the processes
    of each case ran. After Ctrl-C, `was_interrupted`, the two may have different numbers of processes.
    """

    cases: dict
    times: dict
    paired: bool
    verdict: Verdict
    conditions: dict = field(default_factory=dict)
    was_interrupted: bool = False

    @property
    def pair_count(self):
        """The number of complete pairs of processes."""
        return min(map(len, self.times.values()))


def parse_key(key):
    """Parse the key of a case, workload/variant/slug, whose pairs name=value may stand in any order.

    Raises LadderError for anything else.
    """
    parts = key.split("/")
    if len(parts) != 3:
        raise LadderError(f"{key!r} is not a case: write workload/variant/slug, as the verb `list` prints it.")
    workload, variant, slug = parts
    order = [*workloads.load(workload).SIZES, "cache"] if workload in workloads.names() else []

    def sort_key(pair):
        """The sizes in the workload's order, the cache protocol, the tunings, and the variables, each by their name."""
        name = pair.partition("=")[0]
        return order.index(name) if name in order else len(order), bool(VARIABLE.fullmatch(name)), name

    return Case.parse(workload, variant, ",".join(sorted(slug.split(","), key=sort_key) if order else slug.split(",")))


def compare_cases(
    a,
    b,
    samples=10,
    min_pairs=10,
    max_pairs=30,
    detect=0.05,
    cap=600.0,
    paired=False,
    data=None,
    reference=None,
    progress=None,
):
    """Compare cases a and b in at least `min_pairs` pairs of processes, each with `samples` samples: a Comparison.

    Measuring ends after the block of two pairs that brings `Verdict.detectable` down to `detect`. It also ends, even
    before `min_pairs`, if another block would exceed `max_pairs` or `cap` seconds. One block is always measured. Ctrl-C
    ends it too, once both cases have a process. `progress` shows the result of each block. Raises LadderError if a
    worker fails.
    """
    progress = progress or SilentProgress()
    cases = {"a": a, "b": b}
    for case in cases.values():
        workloads.complete(case.workload, case.sizes)
        require_cpus(case)
        require_preconditions(case, reference)
    counts = {"processes": 1, "samples": samples, "least": samples, "most": samples, "phase_passes": 1}
    protocol = counts | {"target": 0.0, "cap": 0.0, "energy": False}  # only the number of samples ends a worker
    results = {"a": [], "b": []}
    with hold_machine(a, b), lease_devices(a, b) as variables:
        deadline = time.monotonic() + cap
        try:
            for block in itertools.cycle(BLOCKS):
                block_start = time.monotonic()
                measure_block(block, cases, results, protocol, data, reference, variables)
                comparison = comparison_of(cases, results, paired)
                progress.show(progress_line(comparison, detect))
                is_precise = comparison.pair_count >= min_pairs and comparison.verdict.detectable <= detect
                now = time.monotonic()
                is_last = comparison.pair_count + PAIRS_PER_BLOCK > max_pairs or now + (now - block_start) > deadline
                if is_precise or is_last:
                    return comparison
        except KeyboardInterrupt:
            if not all(results.values()):
                raise
            return comparison_of(cases, results, paired, was_interrupted=True)
        finally:
            progress.clear()


def comparison_of(cases, results, paired, was_interrupted=False):
    """The Comparison of the results so far; after an interruption, a process without its partner counts if unpaired."""
    require_same_conditions(
        {f"The processes of case {name.upper()}": (cases[name], results[name]) for name in cases}, "The two cases"
    )
    count = min(map(len, results.values())) if paired else None
    times = {name: [result["samples"] for result in results[name][:count]] for name in cases}
    conditions = {name: results[name][0].get("system", {}) for name in cases}
    verdict = compare(times["a"], times["b"], paired=paired)
    return Comparison(cases, times, paired, verdict, conditions, was_interrupted)


def progress_line(comparison, detect):
    """The result so far, as a line of progress."""
    verdict = comparison.verdict
    return (
        f"{comparison.pair_count} pairs: A takes {digits(verdict.ratio)} times as long as B; "
        f"{difference(verdict.detectable)} would be detected, target {percent(detect)}."
    )


def measure_block(block, cases, results, protocol, data, reference, variables=None):
    """Append a block's results to `results`. All its workers start together, then measure one after the other."""
    workers = []
    try:
        for name in block:
            workers.append(Worker(cases[name], protocol, data, reference))
        for worker in workers:
            worker.wait_ready()
        for name, worker in zip(block, workers, strict=True):
            results[name].append(worker.go(variables))
            worker.stop()
    finally:
        for worker in workers:
            worker.stop()


def require_same_conditions(results_by_name, all_cases):
    """Refuse processes that ran under different conditions, within each case and between the cases.

    `results_by_name` is {name of the processes in a message: (case, results)}, `all_cases` the name of all cases.
    Between the cases, only conditions that all report are compared, and the conditions of libraries only if all cases
    set the same variables.
    """
    for name, (_, results) in results_by_name.items():
        agreement.require_same(results, name)
    cases, results_of_cases = zip(*results_by_name.values(), strict=True)
    with_libraries = len({str(traits.environment(case) | case.variables) for case in cases}) == 1
    every_result = [result for results in results_of_cases for result in results]
    agreement.require_same(agreement.shared_conditions(every_result, with_libraries), all_cases)


def difference(detectable):
    """The smallest relative difference that would be detected, in words: in per cent or, from 100 % on, as a factor."""
    if detectable < 1:
        return f"a difference of {percent(detectable)}"
    return f"only a factor of {1 + detectable:.2g}" if detectable < 98 else "only a factor of more than 100"


def detectable_sentence(detectable):
    """The sentence on the smallest relative difference that would have been detected."""
    words = difference(detectable) if math.isfinite(detectable) else "with one process, no difference"
    return f"{words[0].upper()}{words[1:]} would have been detected."


def report(comparison):
    """The comparison as text: the median of each case, the verdict, and the detectable difference."""
    verdict, lines = comparison.verdict, ["Interrupted: this is the comparison so far."] * comparison.was_interrupted
    for name, case in comparison.cases.items():
        median = np.median(np.concatenate(comparison.times[name]))
        lines.append(f"{name.upper()}  {seconds(median)}  {case.key}")
    interval = (
        f"99 % interval {digits(verdict.low)} to {digits(verdict.high)}"
        if math.isfinite(verdict.detectable)
        else "without an interval"
    )
    lines.append(
        f"{verdict_clause(verdict)}: A takes {digits(verdict.ratio)} times as long as B, {interval} "
        f"({comparison.pair_count} pairs of processes, {'paired' if comparison.paired else 'unpaired'})."
    )
    lines.append(detectable_sentence(verdict.detectable))
    return "\n".join(lines)


def verdict_clause(verdict):
    """The verdict on A and B, as a clause."""
    if verdict.outcome == UNDECIDED:
        return "A and B do not differ significantly"
    if verdict.outcome == EQUAL:
        return f"A is equal to B within {verdict.equal_percent} %"
    return f"A is {digits(max(verdict.ratio, 1 / verdict.ratio))} × {verdict.outcome} than B"


def document(comparison):
    """The comparison as JSON, with all its samples and the machine's description."""
    return {
        "cases": {name: case.key for name, case in comparison.cases.items()},
        **asdict(comparison.verdict),
        "paired": comparison.paired,
        "pairs": comparison.pair_count,
        "interrupted": comparison.was_interrupted,
        "times": comparison.times,
        "conditions": comparison.conditions,
        "description": description.describe(),
        "source": revision.of_files([path for case in comparison.cases.values() for path in sources.code_paths(case)]),
    }
