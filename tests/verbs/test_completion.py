"""The scripts with which shells complete the command line."""

import re
import subprocess

import pytest

from conftest import ROOT
from ladder.__main__ import main
from ladder.verbs import VERBS
from ladder.verbs.completion import SHELLS

# What bash does when Tab is pressed after the words of a line.
PRESS_TAB = """
source ./script
press_tab() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=(); _shtab_ladder; echo "${COMPREPLY[*]}"; }
"""


@pytest.fixture
def write_script(tmp_path, monkeypatch, capsys):
    """A function that writes a shell's script to the file `script` and returns its text."""

    def write_script(shell):
        main(["completion", shell])
        text = capsys.readouterr().out
        (tmp_path / "script").write_text(text)
        return text

    monkeypatch.chdir(tmp_path)
    return write_script


@pytest.mark.parametrize("shell", SHELLS)
def test_every_verb_is_in_the_script(write_script, shell):
    text = write_script(shell)
    assert not [verb for verb in VERBS if verb not in text]


@pytest.mark.parametrize("shell", SHELLS)
def test_the_documents_say_where_the_shell_reads_its_script(shell):
    page = (ROOT / "docs/how-to/completion.md").read_text(encoding="utf-8")
    assert re.search(rf"^ladder completion {shell} > ~/\S+$", page, re.MULTILINE)


def test_bash_completes_verbs_options_names_and_files(write_script, tmp_path, monkeypatch):
    # A user's variant, whose name begins like that of `tiled`.
    (tmp_path / "mine/gemm").mkdir(parents=True)
    (tmp_path / "mine/gemm/tilted.py").write_text('DEVICE = "host"\n')
    monkeypatch.setenv("LADDER_VARIANTS", str(tmp_path / "mine"))
    (tmp_path / "config.yaml").touch()
    write_script("bash")
    completions = {  # {the line before Tab is pressed: what completes its last word}
        "ladder comp": "compare completion",
        "ladder run --qu": "--quick",
        "ladder run gemm/blas --quick gemm/til": "gemm/tiled gemm/tilted",
        "ladder new gemm/til": "gemm/tiled gemm/tilted",
        "ladder campaign gemm/til": "",
        "ladder data mn": "mnist",
        "ladder show gem": "gemm gemv",
        "ladder list --configfile con": "config.yaml",
        "ladder run --samples ": "",
    }
    lines = [f"press_tab {line}''" for line in completions]  # the last word may be empty
    command = "\n".join([PRESS_TAB, *lines])
    process = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True)
    assert process.stderr == ""
    assert dict(zip(completions, map(sort_words, process.stdout.splitlines()), strict=True)) == completions


def sort_words(line):
    """The line with its words sorted, since bash prints completions in any order."""
    return " ".join(sorted(line.split()))
