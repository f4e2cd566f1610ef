"""The mutants are up to date: each changes a text that occurs exactly once, and has a unique name."""

import subprocess
import sys
from collections import Counter

import pytest

from conftest import ROOT
from mutants import run

MUTANTS = run.load()
PACKAGES = {path.parent.name for path in (ROOT / "src/ladder").glob("*/__init__.py")}


def faults(mutant):
    """What is wrong with the fields of a mutant."""
    if mutant.is_stale():
        yield f"update `old` in tests/mutants/{mutant.package}.yaml"
    if mutant.new == mutant.old or not mutant.tests or mutant.tier not in run.TIERS:
        yield "it changes nothing, has no tests or has an unknown tier"
    for path, _, name in (test.partition("::") for test in mutant.tests):
        if not (ROOT / path).is_file() or f"def {name.partition('[')[0]}(" not in (ROOT / path).read_text():
            yield f"{path}::{name} isn't a test"


def test_mutants_are_up_to_date():
    assert [f"{mutant.name}: {fault}" for mutant in MUTANTS for fault in faults(mutant)] == []


def test_every_package_has_four_mutants_and_names_are_unique():
    counts = Counter(mutant.package for mutant in MUTANTS)
    assert all(counts[package] >= 4 for package in PACKAGES)
    assert max(Counter(mutant.name for mutant in MUTANTS).values()) == 1


@pytest.mark.slow
def test_the_tests_of_a_mutant_are_in_its_tier():
    """A mutant of the tier `test` has no test that `make test` skips."""
    tests = {test.partition("[")[0] for mutant in MUTANTS if mutant.tier == "test" for test in mutant.tests}
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", *run.TIERS["test"], *tests]
    output = subprocess.run(command, cwd=ROOT, capture_output=True, text=True).stdout
    assert tests <= {line.partition("[")[0] for line in output.splitlines()}
