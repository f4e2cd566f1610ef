"""A session of the verb `run`: from the words of its command line to the printed ranking."""

from functools import partial

from ladder.catalogue import soundness
from ladder.errors import enumerate_words, pluralize
from ladder.harness import case_files, ranking_report, sweeps
from ladder.harness.case_arguments import cases_of
from ladder.harness.leases import hold_machine, require_devices
from ladder.harness.preconditions import require_cpus, require_preconditions
from ladder.harness.ranking import Ranking, drop_failing_cases, rank
from ladder.machine import programs

MAX_NAMED = 6  # of the cases that weren't measured; further ones are counted


def run(words, sweep_words, limits, rate_of, budget=None, launcher=None, ceilings=None):
    """Measure the cases of a command line and print their ranking.

    Returns the ranking, whether Ctrl-C ended it, and all as a document for JSON. Raises LadderError. `words` and
    `sweep_words` are those of `cases_of`; `rate_of` is that of `RankingProgress`; `budget` is the maximum number of
    seconds for trying the cases of a sweep; `ceilings` are those of `plausibility`, or None.
    """
    if launcher:
        programs.split_command(launcher, "--launcher")
    cases = cases_of(words, sweep_words)
    progress = ranking_report.RankingProgress(rate_of)
    progress.say(introduction(cases))
    baseline, first_limits = (None, sweeps.sweep_limits(limits)) if sweep_words else (cases[0], limits)
    ranking = Ranking(cases, baseline, first_limits, ceilings=ceilings)
    # Refusals come before the wait for the machine.
    drop_failing_cases(ranking, partial(require_possible, launcher=launcher), progress)
    files = {case: case_files.provide(case, progress.say) for case in ranking.remaining}
    drop_failing_cases(ranking, lambda case: require_preconditions(case, files[case][1]), progress)
    sweep_ranking = None
    was_interrupted = False
    try:
        with hold_machine(*ranking.remaining):
            if sweep_words:
                if budget is not None:
                    progress.say(f"Tries combinations for {budget:g} s; the fastest are measured again afterwards.")
                sweeps.explore(ranking, files, progress, launcher, budget)
                progress.clear()
                print(sweeps.headline(ranking, len(cases)))
                print(*ranking_report.table(ranking, rate_of), sep="\n", flush=True)
                sweep_ranking, ranking = ranking, sweeps.final_ranking(ranking, limits)
                names = enumerate_words([ranking.labels[case] for case in ranking.cases])
                progress.say(f"Confirms the fastest on fresh processes: {names}.")
            rank(ranking, files, progress, launcher)
    except KeyboardInterrupt:
        was_interrupted = True
    finally:
        progress.clear()
    print_ranking(ranking, rate_of, was_interrupted)
    document = ranking_report.session_document(ranking, rate_of, was_interrupted, sweep_ranking)
    return ranking, was_interrupted, document


def require_possible(case, launcher):
    """Refuse a case that can't exist or lacks its GPUs or, unless a launcher starts it elsewhere, has too few CPUs."""
    soundness.require_sound(case)
    require_devices(case)
    if not launcher:
        require_cpus(case)


def introduction(cases):
    """A line on what the cases share: workload, sizes, cache protocol and tunings, with the defaults filled in."""
    first = cases[0]
    shared = {name: value for name, value in first.sizes.items() if all(case.sizes[name] == value for case in cases)}
    tunings = {
        name: value for name, value in first.tuning.items() if all(case.tuning.get(name) == value for case in cases)
    }
    pairs = " ".join(f"{name}={value}" for name, value in {**shared, "cache": first.cache, **tunings}.items())
    return f"{pluralize(len(cases), 'case')} of {first.workload}: {pairs}"


def print_ranking(ranking, rate_of, was_interrupted):
    """Print the ranking, and why measuring has ended."""
    if not ranking.measured:
        print("Interrupted before any case was measured.")
        return
    print(*ranking_report.table(ranking, rate_of), sep="\n")
    for case, reason in {**ranking.warnings, **ranking.failures}.items():
        print(f"{ranking.labels[case]}: {reason}")
    if names := [ranking.labels[case] for case in ranking.unmeasured]:
        more = [f"{len(names) - MAX_NAMED} more"] * (len(names) > MAX_NAMED)
        print(f"Not measured: {enumerate_words([*names[:MAX_NAMED], *more])}.")
    counts = sorted({len(ranking.results[case]) for case in ranking.measured})
    processes = pluralize(counts[-1], "process") if len(counts) == 1 else f"{counts[0]} or {counts[-1]} processes"
    reason = "Interrupted: this is the ranking so far." if was_interrupted else ranking.end_reason
    print(f"{reason} {processes} of each case.")
