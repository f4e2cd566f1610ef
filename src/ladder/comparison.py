"""Two cases side by side: fresh workers in the order ABBA until the samples decide what they were asked to decide.

Measuring goes on until changes of a given size would be found, or the pairs or the time are used up. It never stops
because of the word that the samples give so far, which would make false words more likely with every look.
"""

import json
import time
from dataclasses import asdict, dataclass
from math import isfinite

import numpy as np

from ladder import configuration, workloads
from ladder import machine as machines
from ladder.errors import LadderError
from ladder.measure import Worker, quiet_machine
from ladder.record import write_atomically
from ladder.statistics import Verdict, compare

BLOCK = "abba"  # two pairs: a drift that is steady over a block slows both cases alike


@dataclass(frozen=True)
class Comparison:
    """What was measured, in seconds: `times["a"][i]` are the samples of process i of case a, and the verdict on them."""

    cases: dict
    times: dict
    paired: bool
    verdict: Verdict

    @property
    def pairs(self):
        return len(self.times["a"])


def side_by_side(
    a, b, samples=10, pairs=10, most_pairs=30, detect=0.05, cap=600.0, paired=False, data=None, reference=None
):
    """The Comparison of cases a and b: at least `pairs` pairs of processes with `samples` samples each, then more.

    It ends after the block of two pairs with which `Verdict.detectable` is at most `detect`, `most_pairs` are reached or
    `cap` seconds are over (which also ends it before `pairs`). Raises LadderError when a worker fails.
    """
    if samples < 1 or not 1 <= pairs <= most_pairs:
        raise LadderError(f"A comparison needs samples, and pairs up to their limit, not {pairs} of {most_pairs} pairs.")
    cases = {"a": a, "b": b}
    for case in cases.values():
        workloads.complete(case.workload, case.sizes)
    protocol = configuration.protocol({"samples": samples, "least": samples, "most": samples, "phase_passes": 1})
    times = {"a": [], "b": []}
    with quiet_machine():
        deadline = time.monotonic() + cap
        while True:
            measure_block(cases, times, protocol, data, reference)
            verdict = compare(times["a"], times["b"], paired=paired)
            done = len(times["a"])
            decided = done >= pairs and verdict.detectable <= detect
            if decided or done >= most_pairs or time.monotonic() > deadline:
                return Comparison(cases, times, paired, verdict)


def measure_block(cases, times, protocol, data, reference):
    """Add the samples of one block of workers to `times`. All start at once; then one measures while the others wait."""
    workers = []
    try:
        for name in BLOCK:
            workers.append(Worker(cases[name], protocol, data, reference))
        for worker in workers:
            worker.wait_ready()
        for name, worker in zip(BLOCK, workers, strict=True):
            times[name].append(worker.go()["samples"])
            worker.stop()
    finally:
        for worker in workers:
            worker.stop()


def report(comparison):
    """The comparison in sentences."""
    verdict, lines = comparison.verdict, []
    for name, case in comparison.cases.items():
        median = np.median(np.concatenate(comparison.times[name]))
        lines.append(f"{name.upper()}  {median:.4g} s  {case.key}")
    word = verdict.word if verdict.word == "can't tell" else f"A is {verdict.word} than B"
    kind = "paired" if comparison.paired else "unpaired"
    lines.append(
        f"{word}: A takes {verdict.ratio:.4f} times as long as B, 99 % interval {verdict.low:.4f} to {verdict.high:.4f}, "
        f"by {comparison.pairs} pairs of processes, {kind}."
    )
    if isfinite(verdict.detectable):
        lines.append(f"Changes below {verdict.detectable:.1%} are undecidable here.")
    else:
        lines.append("So few pairs decide nothing: measure more.")
    return "\n".join(lines)


def write(path, comparison):
    """The comparison with all its samples and the machine's description as JSON; a number without a bound is null."""
    verdict = {key: None if value in (np.inf, -np.inf) else value for key, value in asdict(comparison.verdict).items()}
    found = {
        "cases": {name: case.key for name, case in comparison.cases.items()},
        **verdict,
        "paired": comparison.paired,
        "pairs": comparison.pairs,
        "times": comparison.times,
        "description": machines.describe(),
        "source": machines.commit(),
    }
    write_atomically(path, json.dumps(found, indent=1, allow_nan=False) + "\n")
