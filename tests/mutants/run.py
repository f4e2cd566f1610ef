"""Defects planted on purpose, each of which the tests must notice: `make mutants`.

A YAML file beside this one holds the mutants of a package, a list of mappings:

    name: a few words, unique among all mutants
    wrong: the defect, in a sentence
    file: the changed file, relative to the root of the repository
    old: a text that occurs exactly once in the file
    new: its replacement
    tests: the tests, one of which must fail or not end, as pytest's arguments (a text, or a list of texts)
    tier: test-all if `make test` skips these tests; by default test

A mutant is a mistake that somebody might make and that an import doesn't reveal. If the text `old` has changed, the
mutant is stale: whoever edits the line must update it (`test_mutants.py` detects stale ones in every run of the tests).

Each mutant is applied to a copy of the project's files in a temporary folder, where one of its tests must fail. Before
that, all these tests must pass on an unchanged copy.
"""

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import yaml

FOLDER = Path(__file__).parent
ROOT = FOLDER.parents[1]
# pytest's options for each tier.
TIERS = {"test": ["-m", "not slow and not cluster"], "test-all": []}
# Seconds for the tests of a mutant, which may hang, and for those of all mutants of a tier.
MUTANT_TIMEOUT, UNCHANGED_TIMEOUT = 600, 3600
PASSED, FAILED = 0, 1  # pytest's exit statuses
FAILURE = re.compile(r"^(?:FAILED|ERROR) (\S+?)(?:\[.*)?(?: - .*)?$", re.MULTILINE)


@dataclass(frozen=True)
class Mutant:
    """A planted defect; the module's docstring has its fields."""

    package: str
    name: str
    wrong: str
    file: str
    old: str
    new: str
    tests: list
    tier: str = "test"

    def is_stale(self, root=ROOT):
        """Whether `old` doesn't occur exactly once in the file."""
        path = Path(root, self.file)
        return not path.is_file() or path.read_text(encoding="utf-8").count(self.old) != 1

    def plant(self, root):
        """Change the file of a copy of the project."""
        path = Path(root, self.file)
        path.write_text(path.read_text(encoding="utf-8").replace(self.old, self.new), encoding="utf-8")


def load(folder=FOLDER):
    """All mutants, package by package."""
    mutants = []
    for path in sorted(folder.glob("*.yaml")):
        for fields in yaml.load(path.read_text(), yaml.CSafeLoader):  # the fast one of libyaml
            tests = fields.pop("tests")
            mutants.append(Mutant(path.stem, tests=tests if isinstance(tests, list) else [tests], **fields))
    return mutants


def copy_to(folder):
    """Copy the project's files as they are now, without those that git ignores."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in filter(None, names.split("\0")):
        if (source := ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, folder / name)


def run_tests(folder, tests, tier, *options, timeout=MUTANT_TIMEOUT):
    """(exit status, output) of pytest in a copy of the project; the status is None after a timeout."""
    # The copy's package, not the installed one.
    environment = os.environ | {"PYTHONPATH": str(folder / "src")}
    command = [sys.executable, "-m", "pytest", "-q", "-rfE", "--tb=short", "-p", "no:cacheprovider", *options]
    process = subprocess.Popen(
        [*command, *TIERS[tier], *tests],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,  # processes that the tests start are killed with them
    )
    try:
        output, _ = process.communicate(timeout=timeout)
        return process.returncode, output
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        return None, process.communicate()[0]


def require_package_of(folder):
    """Exit if Python would import another package than that of a copy."""
    command = [sys.executable, "-c", "import ladder; print(ladder.__path__[0])"]
    environment = os.environ | {"PYTHONPATH": str(folder / "src")}
    result = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=True)
    package = result.stdout.strip()
    if not Path(package).is_relative_to(folder):
        sys.exit(f"The tests of a copy would test {package}: no mutant can be noticed.")


def check_unchanged(mutants, jobs):
    """Run the tests of all mutants on an unchanged copy; exit if one fails, which would seem to notice every mutant."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        copy_to(folder)
        require_package_of(folder)
        for tier in TIERS:
            tests = sorted({test for mutant in mutants if mutant.tier == tier for test in mutant.tests})
            if not tests:
                continue
            workers = ["--numprocesses", str(jobs), "--dist", "loadgroup"]
            status, output = run_tests(folder, tests, tier, *workers, timeout=UNCHANGED_TIMEOUT)
            if status != PASSED:
                sys.exit(f"{output}\nThese tests don't pass without any mutant.")


def run_mutant(mutant):
    """(is_noticed, the failing test or why none failed, seconds) of a mutant."""
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        copy_to(folder)
        mutant.plant(folder)
        status, output = run_tests(folder, mutant.tests, mutant.tier, "--exitfirst")
    seconds = time.monotonic() - start
    if status is None:
        return True, f"no end within {MUTANT_TIMEOUT} s", seconds
    if status == FAILED and (failure := FAILURE.search(output)):
        return True, failure[1], seconds
    reason = "SURVIVES" if status == PASSED else f"pytest ends with {status}: {output.strip().splitlines()[-1]}"
    return False, reason, seconds


def main():
    """Run mutants, by default all; exit with 1 if one is stale or survives."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("names", nargs="*", help="names of mutants or packages; all by default")
    parser.add_argument("--tier", choices=TIERS, help="only mutants of this tier")
    parser.add_argument("--jobs", type=int, default=2, help="number of parallel mutants")
    options = parser.parse_args()
    mutants = load()
    if unknown := set(options.names) - {name for mutant in mutants for name in (mutant.name, mutant.package)}:
        sys.exit(f"There is no mutant and no package {', '.join(sorted(unknown))}.")
    mutants = [mutant for mutant in mutants if options.tier in (None, mutant.tier)]
    if options.names:
        mutants = [mutant for mutant in mutants if {mutant.name, mutant.package} & set(options.names)]
    if stale := [mutant for mutant in mutants if mutant.is_stale()]:
        sys.exit("\n".join(f"{mutant.package}: {mutant.name!r} is stale: look at {mutant.file}." for mutant in stale))
    check_unchanged(mutants, options.jobs)
    noticed, survived = Counter(), []
    with ThreadPoolExecutor(options.jobs) as pool:
        for mutant, (is_noticed, detail, seconds) in zip(mutants, pool.map(run_mutant, mutants), strict=True):
            print(f"{mutant.package:10}  {mutant.tier:8}  {seconds:4.0f} s  {mutant.name}\n{'':28}{detail}", flush=True)
            noticed[mutant.tier] += is_noticed
            survived += [] if is_noticed else [mutant]
    counts = ", ".join(f"{count} by `make {tier}`" for tier, count in noticed.items())
    print(f"{noticed.total()} of {len(mutants)} mutants were noticed: {counts}.")
    for mutant in survived:
        print(f"Not noticed: {mutant.name} ({mutant.wrong})")
    sys.exit(bool(survived))


if __name__ == "__main__":
    main()
