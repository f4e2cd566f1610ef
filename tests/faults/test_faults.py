"""Three random faults: `make faults` puts in more."""

import pytest

from faults import run, small

pytestmark = [pytest.mark.slow, pytest.mark.workflow]
SEED, COUNT = 1, 3


def test_random_faults_do_no_harm(tmp_path):
    base = small.make(tmp_path / "base")
    results = [run.attempt(base, SEED, number, tmp_path) for number in range(COUNT)]
    failed = [(number, result) for number, result in enumerate(results) if result[0] == "failed"]
    for number, result in failed:
        run.report(number, result)
    assert not failed
