"""The mutants are up to date: each changes a text that occurs exactly once, and has a unique name."""

import subprocess
import sys
from collections import Counter

import pytest

from conftest import ROOT
from mutants import run

MUTANTS = run.load()
PACKAGES = {path.parent.name for path in (ROOT / "src/ladder").glob("*/__init__.py")}


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_mutant_is_up_to_date(mutant):
    assert not mutant.is_stale(), f"update `old` in tests/mutants/{mutant.package}.yaml"
    assert mutant.new != mutant.old
    assert mutant.tests
    assert mutant.tier in run.TIERS
    for test in mutant.tests:
        path, _, name = test.partition("::")
        assert (ROOT / path).is_file(), path
        assert f"def {name.partition('[')[0]}(" in (ROOT / path).read_text()


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
