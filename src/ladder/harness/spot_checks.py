"""Untimed checks of new variants at small odd sizes, where remainders of blocks show; serial cases have two threads.

Most races show then, too. Rungs and peers of a workload are skipped, because the tests check them at many sizes.
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


def warnings(cases, new_worker, leases, launcher, say):
    """{case: sentence} of those cases whose variant is wrong, or fails, in its spot check.

    `new_worker` starts a worker, as that of `turns.measure_groups`; `say(sentence)` is called before each check.
    """
    small_cases = {case: small_case for case in cases if (small_case := spot_case(case))}
    sentences = {}
    for case, small_case in small_cases.items():
        say(f"Checks {case.workload}/{case.variant} untimed at {differences(case, small_case)}, too.")
        try:
            for group in turns.group_processes([(0, small_case)], launcher, turns.free_bytes()):
                files, results, wall_seconds = {small_case: ({}, None)}, {small_case: []}, {small_case: 0.0}
                turns.measure_groups([group], files, new_worker, leases, results, wall_seconds)
        except turns.CaseError as error:
            sentences[case] = f"An untimed check at {differences(case, small_case)} failed: {error.reason}"
    return sentences


def spot_case(case):
    """The case to check in addition to a case; None for a rung, and if it is the same, excluded, or needs data."""
    if workloads.rungs(case.workload).get(case.variant):  # an idea; a variant without one is new
        return None
    kinds = workloads.load(case.workload).SIZES
    counts = [name for name, kind in kinds.items() if kind is int]
    sizes = case.sizes | {name: odd_size(case.sizes[name], prime) for name, prime in zip(counts, PRIMES, strict=False)}
    threads = {"threads": min(2, cpus.cores())} if case.tuning.get("threads") == 1 else {}
    small_case = replace(case, sizes=sizes, tuning=case.tuning | threads)
    try:
        soundness.require_sound(small_case)
    except LadderError:
        return None  # the workload, or LIMITS of the variant, excludes these sizes
    needs_files = datasets.name_of(small_case.workload, sizes) or traits.reference_slug(small_case)
    return None if needs_files or small_case == case else small_case


def odd_size(size, prime):
    """A small odd size: the prime or, for a smaller size, the largest odd number up to that size."""
    return prime if size > prime else size - 1 + size % 2


def differences(case, small_case):
    """What distinguishes a spot check from its case, as words name=value."""
    before, after = {**case.sizes, **case.tuning}, {**small_case.sizes, **small_case.tuning}
    return " ".join(f"{name}={value}" for name, value in after.items() if value != before[name])
