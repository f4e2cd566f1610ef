"""Defects planted on purpose, each of which the tests must notice: `make mutants`.

A YAML file beside this one holds the mutants of a package, a list of mappings:

    name: a few words, unlike those of any other
    wrong: what is wrong with it, in a sentence
    file: the file that is changed, from the root of the repository
    old: a text that occurs there exactly once
    new: what is written in its place
    tests: the tests that must notice it, as pytest takes them (a text, or a list of texts)
    tier: test-all, where only tests notice it that `make test` leaves out; by default test

A mutant is a mistake that somebody might make and that no import notices. Where the text `old` has changed, the mutant
is stale: whoever edits the line brings it up to date (`test_mutants.py` finds stale ones with every run of the tests).

Each is applied to a copy of the project's files in a temporary folder, and its tests must fail there. Before that, all
tests that are named must pass on an unchanged copy.
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
# What `make test` leaves out.
TIERS = {"test": ["-m", "not slow and not cluster"], "test-all": []}
LIMIT = 600  # seconds for the tests of a mutant, which may well make them hang
PASSED, FAILED = 0, 1  # pytest's exit statuses
NOTICED = re.compile(r"^(?:FAILED|ERROR) (\S+?)(?:\[.*)?(?: - .*)?$", re.MULTILINE)


@dataclass(frozen=True)
class Mutant:
    """A planted defect; see the module for its fields."""

    package: str
    name: str
    wrong: str
    file: str
    old: str
    new: str
    tests: list
    tier: str = "test"

    def is_stale(self, root=ROOT):
        """Whether its text doesn't occur exactly once."""
        path = Path(root, self.file)
        return not path.is_file() or path.read_text(encoding="utf-8").count(self.old) != 1

    def plant(self, root):
        """Change the file of a copy of the project."""
        path = Path(root, self.file)
        path.write_text(path.read_text(encoding="utf-8").replace(self.old, self.new), encoding="utf-8")


def load(folder=FOLDER):
    """All mutants, package by package."""
    found = []
    for path in sorted(folder.glob("*.yaml")):
        for one in yaml.safe_load(path.read_text()):
            tests = one.pop("tests")
            found.append(Mutant(path.stem, tests=tests if isinstance(tests, list) else [tests], **one))
    return found


def copy_to(folder):
    """Copy the files of the project as they are now, without those that git ignores."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in filter(None, listed.split("\0")):
        if (source := ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, folder / name)


def run_tests(folder, tests, tier, *options):
    """(Exit status, output) of pytest in a copy of the project; None for the status where it took too long."""
    # The copy's package, not the one that is installed.
    environment = os.environ | {"PYTHONPATH": str(folder / "src")}
    command = [sys.executable, "-m", "pytest", "-q", "-rfE", "--tb=short", "-p", "no:cacheprovider", *options]
    process = subprocess.Popen(
        [*command, *TIERS[tier], *tests],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,  # so that what the tests have started can be ended with them
    )
    try:
        output, _ = process.communicate(timeout=LIMIT)
        return process.returncode, output
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        return None, process.communicate()[0]


def require_own_package(folder):
    """Exit where Python would import another package than the copy's."""
    line = [sys.executable, "-c", "import ladder; print(ladder.__path__[0])"]
    environment = os.environ | {"PYTHONPATH": str(folder / "src")}
    found = subprocess.run(line, cwd=folder, env=environment, capture_output=True, text=True, check=True).stdout.strip()
    if not Path(found).is_relative_to(folder):
        sys.exit(f"The tests of a copy would test {found}: no mutant can be noticed.")


def check_unchanged(mutants, jobs):
    """Run the tests of all mutants on an unchanged copy; exit where one fails, for it would notice anything."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        copy_to(folder)
        require_own_package(folder)
        for tier in TIERS:
            tests = sorted({test for one in mutants if one.tier == tier for test in one.tests})
            if not tests:
                continue
            status, output = run_tests(folder, tests, tier, "--numprocesses", str(jobs), "--dist", "loadgroup")
            if status != PASSED:
                sys.exit(f"{output}\nThese tests don't pass without any mutant.")


def outcome(mutant):
    """(Whether it was noticed, by what or why not, seconds) of one mutant."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        copy_to(folder)
        mutant.plant(folder)
        status, output = run_tests(folder, mutant.tests, mutant.tier, "--exitfirst")
    seconds = time.monotonic() - began
    if status is None:
        return True, f"no end within {LIMIT} s", seconds
    if status == FAILED and (found := NOTICED.search(output)):
        return True, found[1], seconds
    why = "SURVIVES" if status == PASSED else f"pytest ends with {status}: {output.strip().splitlines()[-1]}"
    return False, why, seconds


def main():
    """Run the mutants that are named, or all of a tier; exit with 1 where one is stale or survives."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("names", nargs="*", help="names of mutants or packages; all by default")
    parser.add_argument("--tier", choices=TIERS, help="those of one tier alone")
    parser.add_argument("--jobs", type=int, default=2, help="how many at a time")
    options = parser.parse_args()
    mutants = [one for one in load() if options.tier in (None, one.tier)]
    if unknown := set(options.names) - {name for one in mutants for name in (one.name, one.package)}:
        sys.exit(f"There is no mutant and no package {', '.join(sorted(unknown))}.")
    if options.names:
        mutants = [one for one in mutants if {one.name, one.package} & set(options.names)]
    if stale := [one for one in mutants if one.is_stale()]:
        sys.exit("\n".join(f"{one.package}: {one.name!r} is stale: look at {one.file}." for one in stale))
    check_unchanged(mutants, options.jobs)
    noticed, survived = Counter(), []
    with ThreadPoolExecutor(options.jobs) as pool:
        for mutant, (is_noticed, by, seconds) in zip(mutants, pool.map(outcome, mutants), strict=True):
            print(f"{mutant.package:10}  {mutant.tier:8}  {seconds:4.0f} s  {mutant.name}\n{'':28}{by}", flush=True)
            noticed[mutant.tier] += is_noticed
            survived += [] if is_noticed else [mutant]
    counts = ", ".join(f"{count} by `make {tier}`" for tier, count in noticed.items())
    print(f"{noticed.total()} of {len(mutants)} mutants were noticed: {counts}.")
    for mutant in survived:
        print(f"Not noticed: {mutant.name} ({mutant.wrong})")
    sys.exit(bool(survived))


if __name__ == "__main__":
    main()
