"""Continuous integration: every stage runs once, whatever the outcome of others, and any failure fails the run."""

import os
import shutil
import subprocess
from fnmatch import fnmatch

import pytest

from conftest import ROOT, TESTS

# A stand-in for make, which prints a line and then a summary like that of pytest.
MAKE = """#!/bin/sh
echo "$1" >> stages
echo "begin $1"
[ "$1" != "$FAILS" ] || { echo "= 1 failed in $1 ="; exit 2; }
echo "= 7 passed in $1 ="
"""


@pytest.mark.parametrize("fails", ["nothing", "smoke", "test", "test-slow"])
def test_every_stage_runs_once_and_the_summaries_of_the_tests_come_last(tmp_path, fails):
    (tmp_path / ".ci").mkdir()
    shutil.copy(ROOT / ".ci/run", tmp_path / ".ci/run")
    make = tmp_path / "bin/make"
    make.parent.mkdir()
    for path, text in ((make, MAKE), (make.with_name("pdftotext"), "#!/bin/sh\n")):
        path.write_text(text)
        path.chmod(0o755)
    environment = os.environ | {"PATH": f"{make.parent}:{os.environ['PATH']}", "FAILS": fails}
    process = subprocess.run([tmp_path / ".ci/run"], env=environment, capture_output=True, text=True)
    assert (tmp_path / "stages").read_text().split() == ["smoke", "test", "test-slow"]
    assert process.returncode == (fails != "nothing")
    *times, tests, slow = process.stdout.splitlines()[-5:]
    for line, stage in zip(times, ("smoke", "test", "test-slow"), strict=True):
        assert line.startswith(f"make {stage}: status {2 if fails == stage else 0}, ")
    assert tests == f"= {'1 failed' if fails == 'test' else '7 passed'} in test ="
    assert slow == f"= {'1 failed' if fails == 'test-slow' else '7 passed'} in test-slow ="


def test_no_folder_of_tests_is_skipped(pytestconfig):
    skipped_patterns = pytestconfig.getini("norecursedirs")
    folders = {folder for path in TESTS.rglob("test_*.py") for folder in path.relative_to(TESTS).parent.parts}
    assert "build" in folders
    assert not [folder for folder in folders if any(fnmatch(folder, pattern) for pattern in skipped_patterns)]
