"""The tutorial, followed as a reader would: its files and commands in order, in a copy of the project.

Of what the commands print, all that the tutorial shows is compared; its `…` stands for what depends on the machine.
"""

import os
import re
import shutil
import subprocess
import sys
from typing import NamedTuple

import pytest

from conftest import ROOT

TUTORIAL = (ROOT / "docs/tutorial.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"^(?:<!-- status: (\d) -->\n)?```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FILE = re.compile(r"[Ss]ave\s+(?:this|it)\s+as\s+`([^`]+)`")
COPIED_PATHS = ("Makefile", "Snakefile", "workflow", "config", "profiles", "paper", "src", "results/published")


class Step(NamedTuple):
    """A block of code: commands with the status that they must have, what they print, or a file's contents."""

    kind: str  # sh, text, or the language of a file
    text: str
    status: int
    file: str | None  # the path that the text before the block names


def steps(text):
    """The steps of a tutorial."""
    end, tutorial = 0, []
    for match in BLOCK.finditer(text):
        status, kind, block = match.groups()
        *_, file = [None, *FILE.findall(text[end : match.start()])]
        tutorial.append(Step(kind, block, int(status or 0), file))
        end = match.end()
    return tutorial


def missing_line(expected, printed):
    """The first line of an expected output that isn't printed, in this order; None if all are."""
    lines = iter(printed.splitlines())
    for line in filter(lambda line: line != "…", expected.splitlines()):
        pattern = ".*".join(map(re.escape, line.split("…")))
        if not any(re.fullmatch(pattern, other.rstrip()) for other in lines):
            return line
    return None


@pytest.fixture
def clone(tmp_path):
    """A copy of the project with a link to the Python environment."""
    ignore = shutil.ignore_patterns("__pycache__")
    for name in COPIED_PATHS:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, tmp_path / name, ignore=ignore)
        else:
            shutil.copy(ROOT / name, tmp_path / name)
    (tmp_path / ".venv").symlink_to(sys.prefix)
    return tmp_path


def environment(clone):
    """The variables of the reader's shell: the Python environment is active, and `make` doesn't set it up."""
    return os.environ | {
        "PATH": os.pathsep.join([f"{clone}/.venv/bin", os.environ["PATH"]]),
        "PYTHONPATH": os.pathsep.join([f"{clone}/src", os.environ["PYTHONPATH"]]),
        "LADDER_COMMIT": "0" * 40,
        "MAKEFLAGS": "SETUP=true",
    }


def run(step, clone):
    """Run a step's commands; returns what they print."""
    result = subprocess.run(
        ["bash", "-ec", step.text],
        cwd=clone,
        env=environment(clone),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=600,
    )
    assert result.returncode == step.status, f"{step.text}{result.stdout}"
    return result.stdout


@pytest.mark.slow
@pytest.mark.workflow
@pytest.mark.skipif(not shutil.which("latexmk"), reason="requires LaTeX")
def test_the_tutorial_does_what_it_says(clone):
    printed = ""
    for step in steps(TUTORIAL):
        if step.kind == "sh":
            printed = run(step, clone)
        elif step.kind == "text":
            line = missing_line(step.text, printed)
            assert line is None, f"Not printed: {line}\n{printed}"
        else:
            (clone / step.file).write_text(step.text, encoding="utf-8")


def test_every_block_of_the_tutorial_is_a_step():
    tutorial = steps(TUTORIAL)
    assert len(tutorial) == TUTORIAL.count("\n```") / 2
    assert {step.kind for step in tutorial} == {"sh", "text", "python", "yaml"}
    assert all(step.file for step in tutorial if step.kind in ("python", "yaml"))
    assert [step.kind for step in tutorial].count("sh") >= 10


@pytest.mark.parametrize(
    ("expected", "printed", "missing"),
    [
        ("a …, b\n", "x\na 1.5, b  \n", None),
        ("a\n…\nc\n", "a\nb\nc\n", None),
        ("a\nc\n", "c\na\n", "c"),
        ("a.c\n", "abc\n", "a.c"),
        ("a\n", "", "a"),
    ],
)
def test_outputs_are_compared_in_order_and_by_their_fixed_parts(expected, printed, missing):
    assert missing_line(expected, printed) == missing
