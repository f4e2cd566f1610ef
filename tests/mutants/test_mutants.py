"""The mutants are up to date: each changes a text that is there once, and is told from all others by its name."""

import subprocess
import sys
from collections import Counter

import pytest

from conftest import ROOT
from mutants import run

MUTANTS = run.load()
PACKAGES = {path.parent.name for path in (ROOT / "src/ladder").glob("*/__init__.py")}


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda one: one.name)
def test_a_mutant_is_up_to_date(mutant):
    assert not mutant.is_stale(), f"mend `old` in tests/mutants/{mutant.package}.yaml"
    assert mutant.new != mutant.old
    assert mutant.tests
    assert mutant.tier in run.TIERS
    for test in mutant.tests:
        path, _, name = test.partition("::")
        assert (ROOT / path).is_file(), path
        assert f"def {name.partition('[')[0]}(" in (ROOT / path).read_text()


def test_every_package_has_four_and_no_two_are_alike():
    counts = Counter(one.package for one in MUTANTS)
    assert all(counts[package] >= 4 for package in PACKAGES)
    assert max(Counter(one.name for one in MUTANTS).values()) == 1


@pytest.mark.slow
def test_what_has_to_notice_a_mutant_is_in_its_tier():
    """A test that is left to `make test-slow` takes its mutants along."""
    due = {test.partition("[")[0] for one in MUTANTS if one.tier == "test" for test in one.tests}
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", *run.TIERS["test"], *due]
    said = subprocess.run(command, cwd=ROOT, capture_output=True, text=True).stdout
    assert due <= {line.partition("[")[0] for line in said.splitlines()}
