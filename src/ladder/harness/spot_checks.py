"""Untimed checks of new variants at small odd sizes on two threads, where rests of blocks and most races show.

Rungs and peers of a workload are skipped, because the tests check them at many sizes.
"""

from dataclasses import replace

from ladder.catalogue import datasets, soundness, traits, workloads
from ladder.errors import LadderError
from ladder.harness import turns
from ladder.machine import cpus

# Large enough for threads to overlap; each size of a case gets another prime.
PRIMES = (197, 199, 211, 223, 227, 229)
# The protocol of an untimed check: one sample.
ONE_SAMPLE = {"processes": 1, "samples": 1, "least": 1, "most": 1, "target": 0.0, "cap": 0.0}


def warnings(cases, start, leases, launcher, say):
    """{case: sentence} of those cases whose variant is wrong, or fails, in its spot check.

    `start` starts a worker; `say(sentence)` is called before each check.
    """
    small_cases = {case: spot for case in cases if (spot := spot_case(case))}
    sentences = {}
    for case, spot in small_cases.items():
        say(f"Checks {case.workload}/{case.variant} untimed at {differences(case, spot)}, too.")
        try:
            for group in turns.group_processes([(0, spot)], launcher, turns.free_memory()):
                turns.measure_groups([group], {spot: ({}, None)}, start, leases, {spot: []}, {spot: 0.0})
        except turns.CaseError as error:
            sentences[case] = f"An untimed check at {differences(case, spot)} failed: {error.reason}"
    return sentences


def spot_case(case):
    """The case to check in addition to a case; None for a rung, and if it would need data or a reference."""
    if workloads.rungs(case.workload).get(case.variant):  # its idea, in one line
        return None
    kinds = workloads.load(case.workload).SIZES
    counts = [name for name, kind in kinds.items() if kind is int]
    sizes = case.sizes | {name: odd_size(case.sizes[name], prime) for name, prime in zip(counts, PRIMES, strict=False)}
    threads = {"threads": min(2, cpus.cores())} if case.tuning.get("threads") == 1 else {}
    spot = replace(case, sizes=sizes, tuning=case.tuning | threads)
    try:
        soundness.require_sound(spot)
    except LadderError:
        return None  # the workload, or LIMITS of the variant, excludes these sizes
    needs_files = datasets.name_of(spot.workload, sizes) or traits.reference_slug(spot)
    return None if needs_files or spot == case else spot


def odd_size(size, prime):
    """A small odd size: the prime, or the largest odd number up to a size below that."""
    return prime if size > prime else size - 1 + size % 2


def differences(case, spot):
    """What distinguishes a spot check from its case, as words name=value."""
    before, after = {**case.sizes, **case.tuning}, {**spot.sizes, **spot.tuning}
    return " ".join(f"{name}={value}" for name, value in after.items() if value != before[name])
