"""The mutants are up to date: each changes a text that is there once, and is told from all others by its name."""

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
