"""A session of the verb `run`: from the words of its command line to the printed ranking and the exit status."""

from dataclasses import replace

from ladder.catalogue import workloads
from ladder.errors import enumerate_words, pluralize
from ladder.harness import case_files, ranking_report
from ladder.harness.case_arguments import cases_of
from ladder.harness.leases import hold_machine
from ladder.harness.ranking import BLOCK, Ranking, rank
from ladder.machine import programs
from ladder.records.files import require_writable


def run(words, sweep, limits, rate, launcher=None, json=None):
    """Measure the cases of a command line and print their ranking; returns it, and whether Ctrl-C ended it.

    `rate` is the function of `RankingProgress`. Raises LadderError.
    """
    if launcher:
        programs.split_command(launcher, "--launcher")
    if json:
        require_writable(json)
    cases = cases_of(words, sweep)
    report = ranking_report.RankingProgress(rate)
    report.say(introduction(cases))
    files = {case: case_files.provide(case, report.say) for case in cases}
    ranking = Ranking(cases, None if sweep else cases[0], sweep_limits(limits) if sweep else limits)
    was_interrupted = False
    try:
        with hold_machine(*cases):
            rank(ranking, files, report, launcher)
            if sweep and len(ranking.measured) > 1:
                report.clear()
                print_sweep(ranking, rate)
                finalists = finalists_of(ranking)
                ranking = Ranking(finalists, finalists[0], limits, labels=ranking.labels)
                names = enumerate_words([ranking.labels[case] for case in finalists])
                report.say(f"Confirms the fastest on fresh processes: {names}.")
                rank(ranking, files, report, launcher)
    except KeyboardInterrupt:
        was_interrupted = True
    finally:
        report.clear()
    print_ranking(ranking, rate, was_interrupted)
    if json:
        ranking_report.write(json, ranking, rate, was_interrupted)
    return ranking, was_interrupted


def print_sweep(ranking, rate):
    """Print the first, short measurement of a sweep."""
    cases, processes = pluralize(len(ranking.cases), "case"), pluralize(BLOCK, "process")
    print(f"Of {cases}, in {processes} each, by which the fastest is chosen but not tested:")
    print(*ranking_report.table(ranking, rate), sep="\n", flush=True)


def introduction(cases):
    """A line on what the cases have in common: their workload and sizes, with the defaults filled in."""
    first = cases[0]
    shared = {name: value for name, value in first.sizes.items() if all(case.sizes[name] == value for case in cases)}
    tunings = {
        name: value for name, value in first.tuning.items() if all(case.tuning.get(name) == value for case in cases)
    }
    pairs = " ".join(f"{name}={value}" for name, value in {**shared, "cache": first.cache, **tunings}.items())
    return f"{pluralize(len(cases), 'case')} of {first.workload}: {pairs}"


def sweep_limits(limits):
    """The limits of each case of a sweep: one block of turns, after which the fastest are measured again."""
    return replace(limits, processes=BLOCK, most_processes=BLOCK, seconds=min(limits.seconds, 0.5))


def finalists_of(ranking):
    """The cases of a sweep that are measured again: the fastest of each variant.

    Of a single variant these are its fastest case and, as the baseline, the case that has the defaults of all tunings,
    or else the second fastest.
    """
    by_variant = {}
    for case in ranking.measured:
        by_variant.setdefault(case.variant, case)
    if len(by_variant) > 1:
        return sorted(by_variant.values(), key=ranking.cases.index)
    winner, second, *_ = ranking.measured
    defaults = [case for case in ranking.measured if has_defaults(case) and case != winner]
    return [*(defaults or [second])[:1], winner]


def has_defaults(case):
    """Whether every tuning of a case that has a default has it."""
    defaults = workloads.defaults(case.workload, case.variant)
    return bool(defaults) and all(case.tuning.get(name, value) == value for name, value in defaults.items())


def print_ranking(ranking, rate, was_interrupted):
    """Print the ranking, and why measuring has ended."""
    if not ranking.measured:
        print("Interrupted before any case was measured.")
        return
    print(*ranking_report.table(ranking, rate), sep="\n")
    for case, reason in ranking.failures.items():
        print(f"{ranking.labels[case]}: {reason}")
    counts = sorted({len(ranking.results[case]) for case in ranking.measured})
    processes = pluralize(counts[-1], "process") if len(counts) == 1 else f"{counts[0]} or {counts[-1]} processes"
    end = "Interrupted: this is the ranking so far." if was_interrupted else ranking.end
    print(f"{end} {processes} of each case.")
