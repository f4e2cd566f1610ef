"""Continuous integration: every stage runs once, whatever the outcome of others, and any failure fails the run."""

import os
import shutil
import subprocess
from fnmatch import fnmatch

import pytest

from conftest import ROOT, TESTS

# A stand-in for make, which prints a line and then a summary like that of pytest; the stage FAILING_STAGE fails.
MAKE = """#!/bin/sh
echo "$1" >> stages
echo "begin $1"
[ "$1" != "$FAILING_STAGE" ] || { echo "= 1 failed in $1 ="; exit 2; }
echo "= 7 passed in $1 ="
"""


@pytest.mark.parametrize("failing_stage", ["nothing", "smoke", "test", "test-slow"])
def test_every_stage_runs_once_and_the_summaries_of_the_tests_come_last(tmp_path, failing_stage):
    (tmp_path / ".ci").mkdir()
    shutil.copy(ROOT / ".ci/run", tmp_path / ".ci/run")
    make = tmp_path / "bin/make"
    make.parent.mkdir()
    for path, text in ((make, MAKE), (make.with_name("pdftotext"), "#!/bin/sh\n")):
        path.write_text(text)
        path.chmod(0o755)
    environment = os.environ | {"PATH": f"{make.parent}:{os.environ['PATH']}", "FAILING_STAGE": failing_stage}
    process = subprocess.run([tmp_path / ".ci/run"], env=environment, capture_output=True, text=True)
    assert (tmp_path / "stages").read_text().split() == ["smoke", "test", "test-slow"]
    assert process.returncode == (failing_stage != "nothing")
    *times, test_summary, slow_summary = process.stdout.splitlines()[-5:]
    for line, stage in zip(times, ("smoke", "test", "test-slow"), strict=True):
        assert line.startswith(f"make {stage}: status {2 if failing_stage == stage else 0}, ")
    assert test_summary == f"= {'1 failed' if failing_stage == 'test' else '7 passed'} in test ="
    assert slow_summary == f"= {'1 failed' if failing_stage == 'test-slow' else '7 passed'} in test-slow ="


def test_no_folder_of_tests_is_skipped(pytestconfig):
    skipped_patterns = pytestconfig.getini("norecursedirs")
    folders = {folder for path in TESTS.rglob("test_*.py") for folder in path.relative_to(TESTS).parent.parts}
    assert "build" in folders
    assert not [folder for folder in folders if any(fnmatch(folder, pattern) for pattern in skipped_patterns)]
