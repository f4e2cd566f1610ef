"""Random faults in whole small runs: `make faults SEED=1 COUNT=200`.

    python tests/faults/run.py --seed 1 --count 200 --jobs 2
    python tests/faults/run.py --seed 1 --only 17        # one of them again

Each fault has its own copy of a study that has completed (`small_study.py`). Its kind and what it hits (`kinds.py`)
are drawn from the seed and its own number. Then the study is run, and what its error messages advise is done, until it
completes: with no wrong number, no lost record, no hang, no process left and no traceback.
"""

import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import psutil

sys.path[:0] = [str(Path(__file__).parents[1]), str(Path(__file__).parents[2] / "src")]

from faults import kinds, small_study  # noqa: E402

MAX_RUNS = 4  # runs at most until a study completes, one for each piece of advice


def draw(seed, number):
    """The random numbers of a fault, and its kind."""
    generator = random.Random(f"{seed}/{number}")
    names, weights = zip(*((name, weight) for name, (_, weight) in kinds.KINDS.items()), strict=True)
    return generator, generator.choices(names, weights)[0]


def run_trial(base, seed, number, folder):
    """Put a fault into a copy of the study; (verdict, kind, what was done, what is wrong, seconds).

    The verdict is "failed" if anything is wrong, "reported" if a run ended with an error message, and "held" if every
    run completed in spite of the fault.
    """
    folder = Path(folder, f"fault-{seed}-{number}")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    generator, kind = draw(seed, number)
    trial = kinds.Trial(number, seed, base.copy(folder), base, generator, kind)
    start, records_before = time.monotonic(), small_study.valid_records(trial.study)[0]
    with trial.clean_up:
        try:
            kinds.KINDS[kind][0](trial)
            complaints = check_trial(trial, records_before)
        except Exception as error:  # of the harness itself, or of a study that a check can't read
            complaints = [f"{type(error).__name__}: {error}"]
        logs = "\n\n".join(f"--- {outcome.status}\n{outcome.text}" for outcome in trial.outcomes)
        (folder / "log.txt").write_text("\n".join([kind, *trial.log, "", *complaints, logs]), encoding="utf-8")
    verdict = "failed" if complaints else "reported" if any(outcome.status for outcome in trial.outcomes) else "held"
    if not complaints:
        shutil.rmtree(folder, ignore_errors=True)
    return verdict, kind, trial.log, complaints, time.monotonic() - start


def check_trial(trial, records_before):
    """What is wrong after a fault, as texts: with its own run, with what that left, and with the runs that follow."""
    complaints = [f"{line} outlived its run" for line in small_study.end_remaining_processes(trial.folder)]
    complaints += lost_records(trial, records_before)
    runs_of_fault = len(trial.outcomes)
    complete(trial)
    read_damaged_files(trial)
    for number, outcome in enumerate(trial.outcomes):
        is_faulty = number < runs_of_fault
        complaints += mistakes_of_run(
            outcome, is_faulty and trial.may_be_silent, is_faulty and trial.may_print_traceback
        )
    if trial.outcomes[-1].status:
        return [*complaints, "the study doesn't complete"]
    return complaints + lost_records(trial, records_before) + small_study.differences(trial.study, trial.base)


def read_damaged_files(trial):
    """Rebuild what reads files that are still damaged, and restore damaged files that nothing reads."""
    for file_kind, deletion in kinds.REQUIRED_READING.items():
        if (
            any(is_damaged(trial, path) for path in trial.files(*kinds.FILES[file_kind]))
            and not trial.outcomes[-1].status
        ):
            kinds.delete_results(trial, deletion)
            complete(trial)
    for path in trial.files(*kinds.UNREAD_FILES):
        if is_damaged(trial, path):
            shutil.copy2(trial.base.folder / path.relative_to(trial.folder), path)


def is_damaged(trial, path):
    """Whether a file still has the contents that the fault gave it."""
    return path in trial.damaged_contents and path.read_bytes() == trial.damaged_contents[path]


def complete(trial):
    """Run the study until it completes, or until no error message says how to go on."""
    for _ in range(MAX_RUNS):
        trial.run()
        if not trial.outcomes[-1].status:
            return
        advice = small_study.files_to_restore(trial.study, trial.outcomes[-1].text)
        for path in sorted(advice):
            trial.say(f"followed the advice on {path.relative_to(trial.folder)}")
            small_study.restore(trial.study, trial.base, path)
        if not advice:
            return


def mistakes_of_run(outcome, may_be_silent, may_print_traceback):
    """What is wrong with what a run printed. `may_be_silent`: it may end without an error message."""
    mistakes = [line for line in outcome.text.splitlines() if line.startswith("FAULT: ")]
    if outcome.is_hung:
        mistakes.append(f"a run hung for {small_study.RUN_TIMEOUT} s")
    if "Traceback (most recent call last)" in outcome.text and not (
        may_print_traceback or is_snakemake_traceback(outcome.text)
    ):
        mistakes.append("a run ended in a traceback")
    sentences = ("ladder: ", "Error in rule", "Directory cannot be locked", "OSError: ", "OSError in file")
    sentences += ("Write-protected output files for rule",)  # Snakemake's, which lists them
    if outcome.status and not may_be_silent and not any(word in outcome.text for word in sentences):
        mistakes.append(f"a run ended with status {outcome.status} and no sentence")
    return mistakes


def is_snakemake_traceback(text):
    """Whether tracebacks are Snakemake's own, of Ctrl-C or of what the system refuses: none of ours is in them."""
    words = ("OSError: [Errno", "KeyboardInterrupt")
    return "/src/ladder/" not in text.partition("Traceback (most")[2] and any(word in text for word in words)


def lost_records(trial, records_before):
    """Complaints about records that the fault didn't touch and that are no longer what they were before it."""
    now = small_study.valid_records(trial.study)[0]
    return [
        f"{name} is not what it was before"
        for name, before in records_before.items()
        if name not in trial.changed_records and now.get(name) != before
    ]


def report(number, result, out=sys.stdout):
    verdict, kind, log, complaints, seconds = result
    print(f"{number:5} {verdict:8} {kind:20} {seconds:4.0f} s  {'; '.join(log)}", file=out, flush=True)
    for complaint in complaints:
        print(f"{'':14}! {complaint}", file=out, flush=True)


def summary(results):
    """Counts by kind of fault."""
    counts = Counter((kind, verdict) for verdict, kind, *_ in results)
    yield f"{'':22}{'held':>6}{'reported':>10}{'failed':>8}"
    for kind in kinds.KINDS:
        row = [counts[kind, verdict] for verdict in ("held", "reported", "failed")]
        if any(row):
            yield f"{kind:22}{row[0]:6}{row[1]:10}{row[2]:8}"
    total = Counter(verdict for verdict, *_ in results)
    yield f"{'all':22}{total['held']:6}{total['reported']:10}{total['failed']:8}"


def end_all_and_exit(folder, *_):
    """End all runs that are under way, unmount what is mounted for them, and exit."""
    small_study.end_all(small_study.processes_in(folder))
    for partition in reversed(psutil.disk_partitions(all=True)):
        if Path(partition.mountpoint).is_relative_to(folder):
            subprocess.run(["umount", "--lazy", partition.mountpoint])
    os._exit(1)


def main():
    parser = argparse.ArgumentParser(description="Put random faults into whole small runs.")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--only", type=int, action="append", help="the number of one fault; may be repeated")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="number of parallel faults")
    parser.add_argument("--folder", help="where studies are copied to; by default a temporary folder")
    parser.add_argument("--base", help="the folder of a study without faults: `base` in the folder of an earlier run")
    options = parser.parse_args()
    folder = Path(options.folder or tempfile.mkdtemp(prefix="faults-")).absolute()
    signal.signal(signal.SIGTERM, partial(end_all_and_exit, folder))
    signal.signal(signal.SIGINT, partial(end_all_and_exit, folder))
    base = small_study.reopen(options.base) if options.base else small_study.make(folder / "base")
    numbers = options.only or range(options.count)
    results = []
    with ThreadPoolExecutor(options.jobs) as pool:
        futures = [(number, pool.submit(run_trial, base, options.seed, number, folder)) for number in numbers]
        for number, future in futures:
            results.append(future.result())
            report(number, results[-1])
    print(*summary(results), sep="\n")
    if failed := [number for number, result in zip(numbers, results, strict=True) if result[0] == "failed"]:
        options_to_repeat = " ".join(f"--only {number}" for number in failed)
        print(
            f"Again: python tests/faults/run.py --seed {options.seed} {options_to_repeat}"
            f"\nTheir folders are in {folder}."
        )
        sys.exit(1)
    shutil.rmtree(folder)


if __name__ == "__main__":
    main()
